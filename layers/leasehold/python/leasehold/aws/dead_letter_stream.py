"""What the dead-letter table's stream says to the reporter: dead letters that are new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidJobIdError
from leasehold.kernel.keys import parse_job_id
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from leasehold.kernel.keys import JobId

SWEEP = "leasehold.sweep"


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    sequence_number: str
    job_id: JobId


def is_sweep(event: Mapping[str, Any]) -> bool:
    return event.get("source") == SWEEP


def new_dead_letters(event: Mapping[str, Any]) -> list[NewDeadLetter]:
    """The dead letters of a stream event's inserts. Marks, resolutions and removals of dead letters are no news.

    A record that is no dead letter of ours is passed by: given back, it would block its shard until it expired.
    """
    dead_letters = []
    for record in event.get("Records", ()):
        change = record.get("dynamodb", {})
        if record.get("eventName") != "INSERT" or "SequenceNumber" not in change:
            continue
        key = change.get("Keys") or change.get("NewImage") or {}
        try:
            job_id = parse_job_id(key.get("id", {}).get("S"))
        except InvalidJobIdError:
            continue
        dead_letters.append(NewDeadLetter(change["SequenceNumber"], job_id))
    return dead_letters


def batch_answer(dead_letters: Iterable[NewDeadLetter], untaken: Collection[JobId]) -> dict[str, list[dict[str, str]]]:
    """What ReportBatchItemFailures expects: Lambda delivers again from the first of these on."""
    return {
        "batchItemFailures": [
            {"itemIdentifier": dead_letter.sequence_number}
            for dead_letter in dead_letters
            if dead_letter.job_id in untaken
        ]
    }
