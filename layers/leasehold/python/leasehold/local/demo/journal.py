"""The demo's telemetry: remembers what happened, so that a view can tell it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from leasehold.engine.telemetry import Metric

# What happens to every job is in the counts; these are the turns that a reader wants to see.
_TOLD = frozenset(
    {
        Event.JOB_FAILED,
        Event.JOB_DEAD_LETTERED,
        Event.JOB_REAPED,
        Event.JOB_SNOOZED,
        Event.JOB_CANCELLED,
        Event.JOB_RELEASED,
        Event.LEASE_LOST,
        Event.ENTRY_FAILED,
        Event.EFFECT_FAILED,
        Event.TIDY_FAILED,
    }
)
_DETAILS = ("attempt", "error_code", "will_retry", "seconds", "reason")


@dataclass(frozen=True, slots=True)
class Line:
    after_seconds: float
    text: str


class Journal:
    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._lock = threading.Lock()
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        with self._lock:
            self._lines.append(Line(self.elapsed, text))

    def since(self, position: int) -> list[Line]:
        with self._lock:
            return self._lines[position:]

    def event(self, event: Event, **fields: object) -> None:
        if event in _TOLD:
            details = " ".join(f"{name}={fields[name]}" for name in _DETAILS if fields.get(name) is not None)
            self.say(f"{fields.get('job_type', '')} {str(event).removeprefix('job_')} {details}".strip())

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        return
