"""Tells Sentry of dead letters: as their table's stream brings them, and by a sweep for what outlived the stream."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.aws.container import open_container, remaining
from leasehold.aws.letter_stream import batch_answer, is_sweep, new_letters
from leasehold.operate.reports import report_letters, sweep_unreported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import Container, LambdaContext

# Longer than one report can take, so that the last one of a sweep is marked too.
RESERVE = timedelta(seconds=10)


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    container = _container()
    parts = container.parts
    try:
        if is_sweep(event):
            until = parts.clock.now() + remaining(context) - RESERVE
            return sweep_unreported(parts, until=until).as_fields()
        letters = new_letters(event)
        untaken = report_letters([letter.job_id for letter in letters], parts)
        return batch_answer(letters, untaken)
    finally:
        container.telemetry.flush()


@cache
def _container() -> Container:
    return open_container("dead_letter_reporter")


warm(_container)
