"""What the job table's stream says to the poller: jobs that want to be looked at, before the index shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.domain.lifecycle import JobStatus
from leasehold.store.dynamodb.items import from_item
from leasehold.store.jobs import DueJob, DueScope, due_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

# The rest of an image, the payload above all, is not even decoded.
_NEEDED = ("PK", "SK", "due_key", "due_lane", "job_type", "status", "priority", "concurrency_key")


def is_stream_event(event: Mapping[str, Any]) -> bool:
    return any(record.get("eventSource") == "aws:dynamodb" for record in event.get("Records", ()))


def hints_of(event: Mapping[str, Any]) -> list[DueJob | DueScope]:
    """The jobs of a stream event, and the scopes in which somebody waits who may run now."""
    hints: list[DueJob | DueScope] = []
    for record in event.get("Records", ()):
        image = record.get("dynamodb", {}).get("NewImage")
        if not image or "due_key" not in image:
            continue
        entry = due_entry(from_item({name: image[name] for name in _NEEDED if name in image}))
        if isinstance(entry, DueScope) or (isinstance(entry, DueJob) and entry.status is not JobStatus.IN_PROGRESS):
            hints.append(entry)
    return hints
