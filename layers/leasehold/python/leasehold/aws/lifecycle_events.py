"""What a change of a job means to those who follow jobs from outside: an event, without any of its content."""

from __future__ import annotations

import hashlib
import json
from itertools import batched
from typing import TYPE_CHECKING, Any

from leasehold.documents import picked, set_only
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.job import job_of
from leasehold.kernel.keys import to_text
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mypy_boto3_events import EventBridgeClient

    from leasehold.kernel.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent:
    """`event_id` is the same however often the event is delivered: followers can tell a copy by it.

    sequence_number: of the stream's record that it comes from.
    """

    sequence_number: str
    name: str
    event_id: str
    detail: dict[str, object]


def _name_of(old: Job | None, new: Job) -> str | None:
    """None for changes that are the queue's own business (claims, holds, heartbeats, moves)."""
    if old is None:
        return "job.enqueued"
    if new.status is JobStatus.IN_PROGRESS:
        return "job.started" if new.started_at is not None and new.started_at != old.started_at else None
    if new.status in {old.status, JobStatus.PENDING}:
        return None  # as before, given back, or snoozed
    return "job.dead_lettered" if new.status is JobStatus.DEAD_LETTER else f"job.{new.status}"


def _detail_of(old: Job | None, new: Job) -> dict[str, object]:
    run = new.runs[-1] if new.runs and (old is None or len(new.runs) > len(old.runs) or new.has_ended) else None
    return set_only(
        **picked(new, "job_id", "job_type", "status", "priority", "attempts", "scheduled_for"),
        previous_status=str(old.status) if old else None,
        **picked(new, "completed_at"),
        next_attempt_at=to_text(new.due.at) if new.status is JobStatus.FAILED and new.due else None,
        run_id=run.run_id(new.job_id) if run else None,
        outcome=str(run.outcome) if run else None,
        error_code=new.last_error_code if new.status in {JobStatus.FAILED, JobStatus.DEAD_LETTER} else None,
        **picked(new, "schedule", "template", "group_id", "retry_of", "trace"),
    )


SOURCE = "leasehold"
# What PutEvents takes in one call.
_AT_ONCE = 10


def events_of(batch: Mapping[str, Any]) -> list[LifecycleEvent]:
    """The events of a batch of stream records, in order. A record that is no job, or cannot be read, is none."""
    changes = [record.get("dynamodb", {}) for record in batch.get("Records", ())]
    return [event for change in changes if (event := _event_of(change)) is not None]


def _event_of(change: Mapping[str, Any]) -> LifecycleEvent | None:
    old, new = _job(change.get("OldImage")), _job(change.get("NewImage"))
    name = None if new is None else _name_of(old, new)
    if new is None or name is None:
        return None
    mark = f"{new.job_id}#{name}#{new.attempts}#{len(new.runs)}"
    event_id = hashlib.sha256(mark.encode()).hexdigest()[:32]
    return LifecycleEvent(
        sequence_number=change["SequenceNumber"], name=name, event_id=event_id, detail=_detail_of(old, new)
    )


def _job(image: Mapping[str, Any] | None) -> Job | None:
    if not image or "job_type" not in image:
        return None
    try:
        return job_of(from_item(dict(image)))
    except (KeyError, TypeError, ValueError):
        return None  # damaged, or of a version to come: it must not block its shard


def publish(told: Sequence[LifecycleEvent], client: EventBridgeClient, bus: str) -> list[str]:
    """Put events onto the bus; the sequence numbers of those that it did not take."""
    untaken: list[str] = []
    for some in batched(told, _AT_ONCE):
        answer = client.put_events(
            Entries=[
                {
                    "Source": SOURCE,
                    "DetailType": each.name,
                    "Detail": json.dumps({"event_id": each.event_id, **each.detail}),
                    "EventBusName": bus,
                }
                for each in some
            ]
        )
        entries = zip(some, answer["Entries"], strict=True)
        untaken += [each.sequence_number for each, entry in entries if "ErrorCode" in entry]
    return untaken
