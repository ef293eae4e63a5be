"""A receiver of webhooks for users' tests: it takes everything, and nothing leaves the process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.kernel.type_options import DELIVERY
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.webhook_sender import Message

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Told:
    """What one receiver was told: `event["type"]` is e.g. job.run.completed, `event["data"]` is the run."""

    url: str
    event: dict[str, Any]


def receiver(told: list[Told]) -> type[BaseJobHandler]:
    class Receiver(BaseJobHandler):
        job_type = DELIVERY

        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Message

        def handle(self, message: Message) -> dict[str, int]:
            told.append(Told(message.url, json.loads(message.body)))
            return {"status": 200}

    return Receiver
