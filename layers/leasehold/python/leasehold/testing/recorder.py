"""Telemetry that remembers, so that a test can look at it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.telemetry import Event, Metric


@dataclass(frozen=True, slots=True)
class Recorded:
    event: Event
    fields: dict[str, object]


class Recorder:
    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.metrics: list[tuple[Metric, float, dict[str, str]]] = []
        self._lock = threading.Lock()

    def event(self, event: Event, **fields: object) -> None:
        with self._lock:
            self.events.append(Recorded(event, fields))

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        assert set(dimensions) == set(metric.dimensions), f"{metric.name} has dimensions {metric.dimensions}"
        with self._lock:
            self.metrics.append((metric, value, dimensions))

    def of(self, event: Event) -> list[dict[str, object]]:
        """The fields of every event of one kind, in order."""
        with self._lock:
            return [recorded.fields for recorded in self.events if recorded.event == event]

    def total(self, metric: Metric, **dimensions: str) -> float:
        """The sum of a metric over all values with these dimensions."""
        with self._lock:
            return sum(
                value
                for each, value, given in self.metrics
                if each == metric and all(given.get(name) == wanted for name, wanted in dimensions.items())
            )
