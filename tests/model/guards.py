"""The guards that the model must have: those of the transition table, by name, and the rules of their writers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel import transitions
from leasehold.kernel.transitions import (
    ABORT,
    CANCEL,
    CLAIM,
    COMPLETE,
    DEAD_LETTER,
    EXPIRE,
    EXTEND,
    FAIL,
    REAP_CANCELLED,
    REAP_DEAD,
    REAP_FAILED,
    REAP_UNSTARTED,
    RELEASE,
    REQUEST_CANCEL,
    SNOOZE,
    START,
)

if TYPE_CHECKING:
    from leasehold.kernel.table import Condition
    from leasehold.kernel.transitions import Transition

HERE = Path(__file__).parent
# What a lease lives through. The others (hold, skip, reschedule, edit, settle, ...) never touch a lease.
LEASE_CORE = (
    *(CLAIM, RELEASE, START, EXTEND, COMPLETE, FAIL, DEAD_LETTER, SNOOZE, ABORT, CANCEL, REQUEST_CANCEL, EXPIRE),
    *(REAP_UNSTARTED, REAP_FAILED, REAP_DEAD, REAP_CANCELLED),
)
# What writers decide by themselves, or what a write does: no condition of the table, yet the promises rest on it too.
RULES = {
    "rule_ATTEMPT_LIMIT": "a failure at the limit of attempts is a dead letter",
    "rule_LETTER_IF_ABSENT": "a letter is only put where there is none",
    "rule_LETTER_IN_TRANSACTION": "the letter is written with the end of its job, or not at all",
    "rule_START_TAKES_A_NEW_NONCE": "start puts a nonce of its own in the place of the token",
    "rule_LATE_START_PROLONGS": "a start on a lease that would not outlast the run prolongs it",
}
_NAMES = {
    repr(value): name.lstrip("_")
    # The first name that a condition has: a later one says why somebody else relies on it, too.
    for name, value in reversed(vars(transitions).items())
    if name.startswith("_") and name.isupper() and type(value).__module__ == "leasehold.kernel.table"
}


def guards_of_the_code() -> set[str]:
    """Every guard of the lease core, its source states and its signature, as the model names them."""
    return {name for step in LEASE_CORE for name in _guards_of(step)}


def guards_of_the_model() -> dict[str, int]:
    """Every guard that the model can do without, by the number that takes it away."""
    text = (HERE / "guards.h").read_text()
    return {name: int(number) for name, number in re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE)}


def guards_that_the_model_uses() -> set[str]:
    text = "".join(path.read_text() for path in [*HERE.glob("*.pml"), *HERE.glob("*.h")] if path.name != "guards.h")
    named = set(re.findall(r"\b(?:GUARD|IS_GONE)\((\w+?_[A-Z_]+)\b", text))
    return named | {f"{step}_SIGNATURE" for step in re.findall(r"^ +REPEAT\(\w+, (\w+), ", text, re.MULTILINE)}


def _guards_of(step: Transition) -> set[str]:
    names = {"STATUS", *(_name_of(guard) for guard in step.guards)}
    if step.signature is not None:
        names.add("SIGNATURE")
    # An end from outside has no worker in the model whose response could be lost: it depends on nothing read.
    if step is EXPIRE:
        names.discard("SIGNATURE")
    # It is there for the sake of seats, which the model does not have.
    if step in {CANCEL, EXPIRE}:
        names.discard("OWNER_IS_MINE")
    return {f"{step.name}_{name}" for name in names}


def _name_of(condition: Condition) -> str:
    """The constant's own name; one without a name is called by what it says."""
    by_shape = f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', type(condition).__name__)}_{getattr(condition, 'attribute', '')}"
    return _NAMES.get(repr(condition), by_shape.upper())
