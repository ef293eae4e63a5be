"""Legs over lanes of the due index, where all jobs are that have not ended."""

from __future__ import annotations

from itertools import batched
from typing import TYPE_CHECKING, cast

from leasehold.admin.legs import DUE_JOBS, MAX_PARTITIONS, Walk, job_id_of_entry
from leasehold.admin.pages import Order
from leasehold.domain.due import Priority, hold_lane, lanes_by_priority
from leasehold.domain.ids import scheduled_for_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leasehold.admin.filters import JobFilter
    from leasehold.admin.legs import Leg
    from leasehold.store.table import Record

_IN_THE_DUE_INDEX = ("job_type", "status", "concurrency_key")


def due_legs(
    name: str, lanes: Sequence[str], wanted: JobFilter, *, first: str | None = None, last: str | None = None
) -> Iterator[Leg]:
    for number, some in enumerate(batched(lanes, MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"{name}{number:04d}",
            source=DUE_JOBS,
            order=Order.DUE,
            partitions=some,
            first=first,
            last=last,
            # Always by status: scopes, schedules, groups and what owes an effect wait in the same lanes.
            where=wanted.conditions(*_IN_THE_DUE_INDEX),
            keep=may_match(wanted),
            is_filtered=True,
        )


def run_lanes(shards: int) -> list[str]:
    return [lane for level in lanes_by_priority(shards) for lane in level]


def hold_lanes(queue: str) -> list[str]:
    return [hold_lane(queue, priority) for priority in sorted(Priority, reverse=True)]


def may_match(wanted: JobFilter) -> Callable[[Record], bool]:
    """Whether an entry of an index is of a job that can match: both of ours tell its type, and its id its date."""

    def keep(entry: Record) -> bool:
        is_of_type = wanted.is_of_type(cast("str", entry.get("job_type")))
        job_id = job_id_of_entry(entry)
        # What is no job's is left to whoever reports it.
        return is_of_type and (job_id is None or wanted.schedules(scheduled_for_of(job_id)))

    return keep
