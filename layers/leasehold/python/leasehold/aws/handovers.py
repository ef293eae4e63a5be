"""Hand-overs as events: how a poller says to a handler's function which job it has claimed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import Due, parse_job_id
from leasehold.kernel.ports import Handover
from leasehold.kernel.table import check_format, format_mark

if TYPE_CHECKING:
    from collections.abc import Mapping


def handover_event(handover: Handover) -> dict[str, str | int]:
    named = {"job_id": handover.job_id, "job_type": handover.job_type, "token": handover.token}
    return {**named, "lease": handover.lease.key, **format_mark()}


def handovers_in(event: Mapping[str, object]) -> list[Handover]:
    """The hand-overs of an event: one, or a batch of one type."""
    batch = event.get("batch")
    if batch is None:
        return [handover_of(event)]
    if not isinstance(batch, list) or not batch:
        raise InvalidInputError(event, "a batch has hand-overs in it", "See events/handover.json for one of them.")
    return [handover_of(each) for each in batch]


def handover_of(event: Mapping[str, object]) -> Handover:
    check_format(event, "this hand-over")
    try:
        return Handover(
            job_id=parse_job_id(event["job_id"]),
            job_type=parse_job_type(event["job_type"]),
            token=str(event["token"]),
            lease=Due.parse(str(event["lease"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            event, f"this is not a hand-over from the poller ({error})", "See events/handover.json for one."
        ) from None
