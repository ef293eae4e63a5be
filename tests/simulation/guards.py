"""The library with guards of one transition taken away."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from leasehold.kernel import jobs
from leasehold.kernel.jobs import bind
from leasehold.kernel.table import Above, After, AnyOf, Equals, Exists, Missing, NotAfter, OneOf, Seen
from leasehold.kernel.transitions import TRANSITIONS, JobStatus, Transition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.kernel.table import Condition

SOURCES = "sources"


@dataclass(frozen=True, slots=True)
class Guard:
    """One condition of a transition: the statuses that it starts from, or one of its guards."""

    transition: str
    name: str

    def __str__(self) -> str:
        return f"{self.transition}: {self.name}"


def all_guards() -> list[Guard]:
    return [
        Guard(transition.name, name)
        for transition in TRANSITIONS
        for name in (SOURCES, *(name_of(condition) for condition in transition.guards))
    ]


def name_of(condition: Condition) -> str:
    """As the docs speak of it.

    >>> name_of(Equals("due_key", "x"))
    'due_key as seen'
    """
    match condition:
        case Equals(attribute):
            return f"{attribute} as seen"
        case Exists(attribute):
            return f"has {attribute}"
        case Missing(attribute):
            return f"no {attribute}"
        case After(attribute):
            return f"{attribute} is to come"
        case NotAfter(attribute, Seen("until")):
            return f"{attribute} is not shortened"
        case NotAfter(attribute):
            return f"{attribute} has passed"
        case OneOf(attribute) | Above(attribute):
            return attribute
        case AnyOf():
            return "may still start"
        case _:
            assert_never(condition)


@contextmanager
def without(*guards: Guard) -> Iterator[None]:
    """Every write of that transition is made without those conditions, in this process, to the end of the block."""
    names = {guard.name for guard in guards}
    (transition,) = {guard.transition for guard in guards}
    assert set(guards) <= set(all_guards()), f"there is no {guards} to take away"
    whole = jobs.conditions_of

    def conditions_of(step: Transition, seen: Mapping[str, object]) -> tuple[Condition, ...]:
        if step.name != transition:
            return whole(step, seen)
        kept = tuple(bind(each, seen) for each in step.guards if name_of(each) not in names)
        statuses = frozenset(JobStatus) if SOURCES in names else step.sources
        return (OneOf("status", tuple(sorted(statuses))), *kept)

    jobs.conditions_of = conditions_of
    try:
        yield
    finally:
        jobs.conditions_of = whole
