"""Tells Sentry of dead letters: as their table's stream brings them, and by a sweep for what outlived the stream."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.aws.container import open_container, remaining
from leasehold.aws.dead_letter_stream import batch_answer, is_sweep, new_dead_letters
from leasehold.operate.reports import report_dead_letters, sweep_unreported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import Container, LambdaContext

# Longer than one report can take, so that the last one of a sweep is marked too.
RESERVE = timedelta(seconds=10)


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


@cache
def _container() -> Container:
    return open_container("dead_letter_reporter")


warm(_container)
