"""Tells Sentry of dead letters: as their table's stream brings them, and by a sweep for what outlived the stream."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.aws.container import open_container, remaining
from leasehold.kernel.errors import InvalidJobIdError
from leasehold.kernel.keys import parse_job_id
from leasehold.lean import dataclass
from leasehold.operate.reports import report_dead_letters, sweep_unreported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from leasehold.aws.container import Container, LambdaContext
    from leasehold.kernel.keys import JobId

# Longer than one report can take, so that the last one of a sweep is marked too.
RESERVE = timedelta(seconds=10)
SWEEP = "leasehold.sweep"


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    sequence_number: str
    job_id: JobId


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    container = _container()
    services = container.services
    try:
        if is_sweep(event):
            until = services.clock.now() + remaining(context) - RESERVE
            return sweep_unreported(services, until=until).as_fields()
        dead_letters = new_dead_letters(event)
        untaken = report_dead_letters([dead_letter.job_id for dead_letter in dead_letters], services)
        return batch_answer(dead_letters, untaken)
    finally:
        container.telemetry.flush()


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


@cache
def _container() -> Container:
    return open_container("dead_letter_reporter")


warm(_container)
