"""What was checked, how it came out, and the form of it that may be shown to others."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

PHASES = ("preflight", "probe", "flow", "watch", "tear down")

_SECRETS = (
    (re.compile(r"\b\d{12}\b"), "<account>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?:AKIA|ASIA|LOCAL)[0-9A-Z]{12,}\b"), "<key>"),
    (re.compile(r"https?://\S+"), "<address>"),
)


class Outcome(StrEnum):
    PROVEN = "proven"
    WRONG = "wrong"
    # Answered by something that is not AWS; the detail says by what.
    STAND_IN = "stand-in"
    # It could not be looked at; the detail says why.
    NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    phase: str
    name: str
    outcome: Outcome
    detail: str
    seconds: float


class Finding(Exception):  # noqa: N818  an answer, and so are those below
    """How the check that it is raised in came out; the text says why."""

    outcome = Outcome.WRONG


class Wrong(Finding):
    """What was looked at is not as it should be; the text says what to do, too."""


class NotShown(Finding):
    """The check cannot be made here."""

    outcome = Outcome.NOT_SHOWN


class StandIn(Finding):
    """It came out well, but not by AWS's own answer; the text says by whose."""

    outcome = Outcome.STAND_IN


@dataclass(slots=True)
class Report:
    queue: str
    at: datetime
    engine: str
    checks: list[Check] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    # Names of the deployment, with what is shown to others in their place.
    names: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def check(self, phase: str, name: str) -> Iterator[list[str]]:
        """One check: what is put into the list becomes its detail. An error of any kind is a finding, not an end."""
        told: list[str] = []
        outcome, started = Outcome.PROVEN, monotonic()
        try:
            yield told
        except Finding as finding:
            outcome, told = finding.outcome, [*told, str(finding)]
        except Exception as error:
            outcome, told = Outcome.WRONG, [*told, f"{type(error).__name__}: {error}"]
        seconds = round(monotonic() - started, 3)
        self.checks.append(Check(phase=phase, name=name, outcome=outcome, detail="; ".join(told), seconds=seconds))

    @property
    def wrong(self) -> list[Check]:
        return [each for each in self.checks if each.outcome is Outcome.WRONG]

    @property
    def is_proven(self) -> bool:
        """On AWS, every phase, and nothing wrong or unseen."""
        phases = {each.phase for each in self.checks}
        outcomes = {each.outcome for each in self.checks}
        return self.engine == "AWS" and phases.issuperset(PHASES) and outcomes == {Outcome.PROVEN}

    def document(self) -> dict[str, object]:
        return {
            "queue": self.queue,
            "at": self.at.isoformat(timespec="seconds"),
            "engine": self.engine,
            "proven": self.is_proven,
            "wrong": len(self.wrong),
            "checks": [asdict(each) for each in self.checks],
            "leftovers": self.leftovers,
        }

    def redacted(self) -> dict[str, object]:
        """The same without what only the owner should see: account, ids, keys, addresses, the deployment's names."""
        return {name: self._without_names(value) for name, value in {**self.document(), "queue": "<queue>"}.items()}

    def _without_names(self, value: object) -> object:
        """Text by text: in JSON, the `n` of a line's end would stand before what begins the next line."""
        match value:
            case str():
                for pattern, instead in _SECRETS:
                    value = pattern.sub(instead, value)
                for name in sorted(self.names, key=len, reverse=True):
                    value = value.replace(name, self.names[name])
                return value
            case list():
                return [self._without_names(each) for each in value]
            case dict():
                return {name: self._without_names(each) for name, each in value.items()}
            case _:
                return value
