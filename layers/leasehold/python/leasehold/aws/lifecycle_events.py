"""From the job table's stream to an EventBridge bus: what happens to jobs, for whoever wants to follow it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from leasehold.domain.lifecycle_event import LifecycleEvent, event_of
from leasehold.store.dynamodb.items import from_item
from leasehold.store.records import job_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mypy_boto3_events import EventBridgeClient

    from leasehold.domain.job import Job

SOURCE = "leasehold"
# What PutEvents takes in one call.
_AT_ONCE = 10


class Told(NamedTuple):
    sequence_number: str
    event: LifecycleEvent


def events_of(batch: Mapping[str, Any]) -> list[Told]:
    """The events of a batch of stream records, in order. A record that is no job, or cannot be read, is none."""
    return list(_events(batch))


def _events(batch: Mapping[str, Any]) -> Iterator[Told]:
    for record in batch.get("Records", ()):
        change = record.get("dynamodb", {})
        new = _job(change.get("NewImage"))
        if new is None:
            continue
        event = event_of(_job(change.get("OldImage")), new)
        if event is not None:
            yield Told(change["SequenceNumber"], event)


def _job(image: Mapping[str, Any] | None) -> Job | None:
    if not image or "job_type" not in image:
        return None
    try:
        return job_of(from_item(dict(image)))
    except (KeyError, ValueError):
        return None  # damaged, or of a version to come: it must not block its shard


def publish(told: Sequence[Told], client: EventBridgeClient, bus: str) -> list[str]:
    """Put events onto the bus; the sequence numbers of those that it did not take."""
    untaken: list[str] = []
    for start in range(0, len(told), _AT_ONCE):
        some = told[start : start + _AT_ONCE]
        answer = client.put_events(
            Entries=[
                {
                    "Source": SOURCE,
                    "DetailType": each.event.name,
                    "Detail": json.dumps({"event_id": each.event.event_id, **each.event.detail}),
                    "EventBusName": bus,
                }
                for each in some
            ]
        )
        entries = zip(some, answer["Entries"], strict=True)
        untaken += [each.sequence_number for each, entry in entries if "ErrorCode" in entry]
    return untaken
