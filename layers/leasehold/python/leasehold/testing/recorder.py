"""What a test looks at afterwards: telemetry that remembers, and what receivers of webhooks were told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.kernel.type_options import DELIVERY
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.webhook_sender import Message

if TYPE_CHECKING:
    from pydantic import BaseModel

    from leasehold.telemetry import Event, Metric


@dataclass(frozen=True, slots=True)
class Recorded:
    event: Event
    fields: dict[str, object]


class Recorder:
    """Several threads may write: an append to a list is one step."""

    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.metrics: list[tuple[Metric, float, dict[str, str]]] = []

    def event(self, event: Event, **fields: object) -> None:
        self.events.append(Recorded(event, fields))

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        assert set(dimensions) == set(metric.dimensions), f"{metric.name} has dimensions {metric.dimensions}"
        self.metrics.append((metric, value, dimensions))

    def of(self, event: Event) -> list[dict[str, object]]:
        """The fields of every event of one kind, in order."""
        return [recorded.fields for recorded in self.events if recorded.event == event]

    def total(self, metric: Metric, **dimensions: str) -> float:
        """The sum of a metric over all values with these dimensions."""
        return sum(
            value
            for each, value, given in self.metrics
            if each == metric and all(given.get(name) == wanted for name, wanted in dimensions.items())
        )


@dataclass(frozen=True, slots=True)
class Told:
    """What one receiver was told: `event["type"]` is e.g. job.run.completed, `event["data"]` is the run."""

    url: str
    event: dict[str, Any]


def receiver(told: list[Told]) -> type[BaseJobHandler]:
    """One that takes everything, and nothing leaves the process."""

    class Receiver(BaseJobHandler):
        job_type = DELIVERY

        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Message

        def handle(self, message: Message) -> dict[str, int]:
            told.append(Told(message.url, json.loads(message.body)))
            return {"status": 200}

    return Receiver
