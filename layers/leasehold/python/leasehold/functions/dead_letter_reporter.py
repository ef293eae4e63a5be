"""Tells Sentry of dead letters: as their table's stream brings them, and by a sweep for what outlived the stream."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.aws.container import container_of, remaining
from leasehold.kernel.errors import InvalidJobIdError
from leasehold.kernel.keys import parse_job_id
from leasehold.operate.reports import report_dead_letters, sweep_unreported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import LambdaContext
    from leasehold.kernel.keys import JobId

# Longer than one report can take, so that the last one of a sweep is marked too.
RESERVE = timedelta(seconds=10)
SWEEP = "leasehold.sweep"


_container = container_of("dead_letter_reporter")


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    with _container().serving() as services:
        if event.get("source") == SWEEP:
            until = services.clock.now() + remaining(context) - RESERVE
            return asdict(sweep_unreported(services, until=until))
        dead_letters = new_dead_letters(event)
        untaken = report_dead_letters([job_id for _, job_id in dead_letters], services)
        # Lambda delivers again from the first of these on.
        failed = [number for number, job_id in dead_letters if job_id in untaken]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}


def new_dead_letters(event: Mapping[str, Any]) -> list[tuple[str, JobId]]:
    """Number of the record and id of each dead letter that was inserted. Marks, resolutions and removals are no news.

    A record that is no dead letter of ours is passed by: given back, it would block its shard until it expired.
    """
    dead_letters: list[tuple[str, JobId]] = []
    for record in event.get("Records", ()):
        change = record.get("dynamodb", {})
        if record.get("eventName") != "INSERT" or "SequenceNumber" not in change:
            continue
        key = change.get("Keys") or change.get("NewImage") or {}
        with suppress(InvalidJobIdError):
            dead_letters.append((change["SequenceNumber"], parse_job_id(key.get("id", {}).get("S"))))
    return dead_letters
