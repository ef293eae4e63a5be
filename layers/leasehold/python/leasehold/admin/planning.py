"""Plan: which index answers a filter. The first plan of `PLANS` that fits is taken.

A plan is a row of stages, a stage some scans. What an index cannot tell apart is read from the table's own
order and filtered there: 1,000 jobs a request, where fetching what an index points to would be 100.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import batched
from typing import TYPE_CHECKING, Any, cast

from leasehold.admin.pages import Order
from leasehold.admin.scanning import (
    DEDUP_RECORDS,
    DUE_JOBS,
    ENDED_JOBS,
    MAX_PARTITIONS,
    TABLE_ORDER,
    IndexScan,
    MemberScan,
    job_id_of_entry,
)
from leasehold.kernel import partitions
from leasehold.kernel.job import NO_WINDOW, DedupRef
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.keys import Priority, due_until, scheduled_for_of, to_text
from leasehold.kernel.lanes import hold_lane, lanes_by_priority
from leasehold.kernel.transitions import ENDED, JobStatus
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from leasehold.admin.pages import JobFilter
    from leasehold.admin.scanning import QueryContext, Scan, Source
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.table import Record


_BY_ENDED_INDEX = frozenset({"statuses", "job_type", "ended", "scheduled"})
_BY_BOTH_INDEXES = frozenset({"statuses", "scheduled"})
_BY_DUE_INDEX = frozenset({"statuses", "job_type", "concurrency_key", "scheduled"})


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    order: Order
    fits: Callable[[JobFilter, Registry], bool]
    stages: tuple[Stage, ...]

    def is_ordered(self, wanted: JobFilter, context: QueryContext) -> bool:
        """Whether the whole listing is one merge of partitions, or part follows part."""
        (stage, *others) = self.stages
        # What costs a request to find out are the members of one group, or the last of several stages.
        return not others and (stage.cost > 0 or len(list(stage.scans(wanted, context))) <= 1)


def _fits_ended_index(wanted: JobFilter, registry: Registry) -> bool:
    """Only end states, and nothing else that the index does not know.

    Completed jobs are the many: a range of scheduled dates, or the order of more partitions than can be merged, is
    had from the table sooner. Of the few that were cancelled or died, each is found sooner here.
    """
    if not (registry.ended_index and wanted.wanted_statuses <= ENDED and wanted.asked <= _BY_ENDED_INDEX):
        return False
    if "ended" in wanted.asked or JobStatus.COMPLETED not in wanted.wanted_statuses or _is_spread(wanted, registry):
        return True
    is_ordered = len(ended_partitions(wanted, registry)) <= MAX_PARTITIONS
    return is_ordered and "scheduled" not in wanted.asked


def _is_spread(wanted: JobFilter, registry: Registry) -> bool:
    """Whether the jobs of all types are in more partitions than a page can look into: then no order is left to keep."""
    return wanted.job_type is None and len(table_partitions(wanted, registry)) > MAX_PARTITIONS


def _fits_due_index(wanted: JobFilter, registry: Registry) -> bool:
    """Only live states. Pending jobs of a range of dates are had from the table, which is ordered by just that."""
    if wanted.wanted_statuses & ENDED or not wanted.asked <= _BY_DUE_INDEX:
        return False
    if _is_spread(wanted, registry):
        return True
    return JobStatus.PENDING not in wanted.wanted_statuses or "scheduled" not in wanted.asked


def _fits_running(wanted: JobFilter, registry: Registry) -> bool:
    return wanted.wanted_statuses == {JobStatus.IN_PROGRESS} and _fits_due_index(wanted, registry)


def _fits_dedup_records(wanted: JobFilter, registry: Registry) -> bool:
    return bool(keyed_types(wanted, registry))


def _fits_both_indexes(wanted: JobFilter, registry: Registry) -> bool:
    """Jobs of all types that have ended or not: lanes are fewer than partitions, and the due index knows no types."""
    is_both = bool(wanted.wanted_statuses & ENDED) and not wanted.wanted_statuses <= ENDED
    knows = registry.ended_index and wanted.asked <= _BY_BOTH_INDEXES
    return is_both and knows and _is_spread(wanted, registry)


@dataclass(frozen=True, slots=True)
class Stage:
    """`name` is where it stands among the stages of its plan; the names of its scans begin with it."""

    name: str
    scans: Callable[[JobFilter, QueryContext], Iterable[Scan]]
    # Requests that finding out its scans takes.
    cost: int = 0
    # Whether an earlier stage has shown the jobs that their dedup record points to.
    without_key_holders: bool = False


def _members(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    assert wanted.group_id is not None
    yield MemberScan(name="1-members:", group=context.group(wanted.group_id))


def _key_holders(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    for job_type in keyed_types(wanted, context.registry):
        assert wanted.dedup_key is not None
        partition = partitions.dedup(DedupRef(job_type, wanted.dedup_key, NO_WINDOW)).values[0]
        yield IndexScan(name=f"1-keys:{job_type}", source=DEDUP_RECORDS, partitions=(partition,))


def _jobs_by_date(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    """All dates, the latest first. What has run is of the past; what was run before its time comes last.

    Jobs of schedules are made when their time has come.
    """
    start, end = wanted.scheduled_from, wanted.scheduled_to
    soon = context.now + CLOCK_TOLERANCE
    may_wait_for_later = JobStatus.PENDING in wanted.wanted_statuses and wanted.schedule is None
    if may_wait_for_later or (end is not None and end <= soon):
        yield from _dates("2-table:a", start, end, wanted, context)
        return
    if start is None or start < soon:
        yield from _dates("2-table:a", start, soon, wanted, context)
    yield from _dates("2-table:b", soon if start is None else max(start, soon), end, wanted, context)


def _ended_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    wanted = _only(ENDED, wanted)
    return _scans(
        "3-ended:",
        ENDED_JOBS,
        ended_partitions(wanted, context.registry),
        first=_dated("", wanted.ended_from),
        last=_dated("", wanted.ended_to),
        keep=may_match(wanted) if "scheduled" in wanted.asked else None,
    )


def _running_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    """Leases end soon: what is due later than the longest of them need not be read."""
    return due_scans("1-run:", run_lanes(context.registry.shards), wanted, last=due_until(context.leases_over))


def _run_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    """What waits for its own type, which would else be found behind all that is due later; then what may run.

    What failed is mostly tried again soon: it would else be found behind all that is scheduled for later.
    """
    wanted = _only(LIVE, wanted)
    lanes, soon = run_lanes(context.registry.shards), due_until(context.now + _TRIED_AGAIN_WITHIN)
    if wanted.job_type is not None:
        yield from due_scans("1-run:a", hold_lanes(wanted.job_type), wanted)
    if JobStatus.PENDING in wanted.wanted_statuses:
        yield from due_scans("1-run:b", lanes, wanted)
    else:
        yield from due_scans("1-run:b", lanes, wanted, last=soon)
        yield from due_scans("1-run:c", lanes, wanted, first=soon)


def _held_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[Scan]:
    wanted = _only(LIVE, wanted)
    # Those of the type itself were read with the run lanes.
    read = set() if wanted.job_type is None else set(hold_lanes(wanted.job_type))
    lanes = [lane for lane in context.waiting_lanes(wanted.job_type).names if lane not in read]
    scans = (scan for lane in lanes for scan in due_scans(f"2-hold:{lane}:", [lane], wanted))
    # By the names of the scans, which a cursor is compared with.
    return iter(sorted(scans, key=lambda scan: scan.name))


def _only(statuses: frozenset[JobStatus], wanted: JobFilter) -> JobFilter:
    """Of jobs of all states, those that one of the indexes knows."""
    return replace(wanted, statuses=wanted.wanted_statuses & statuses)


LIVE = frozenset(JobStatus) - ENDED
MEMBERS = Stage("1-members", _members, cost=1)
KEY_HOLDERS = Stage("1-keys", _key_holders)
JOBS_BY_DATE = Stage("2-table", _jobs_by_date)
OTHER_JOBS_BY_DATE = replace(JOBS_BY_DATE, without_key_holders=True)
RUNNING_LANES = Stage("1-run", _running_lanes)
RUN_LANES = Stage("1-run", _run_lanes)
HOLD_LANES = Stage("2-hold", _held_lanes, cost=7)
ENDED_LANES = Stage("3-ended", _ended_lanes)


def keyed_types(wanted: JobFilter, registry: Registry) -> list[str]:
    """The types whose dedup records are looked up for a dedup key; none if there are too many."""
    if wanted.dedup_key is None:
        return []
    types = wanted.types(registry)
    return types if len(types) <= _MOST_KEYED_TYPES else []


PLANS = (
    Plan("group", Order.MEMBER, lambda wanted, _: "group_id" in wanted.asked, (MEMBERS,)),
    Plan("dedup key", Order.DEDUP_WINDOW, _fits_dedup_records, (KEY_HOLDERS, OTHER_JOBS_BY_DATE)),
    Plan("ended index", Order.ENDED, _fits_ended_index, (ENDED_LANES,)),
    Plan("running", Order.DUE, _fits_running, (RUNNING_LANES,)),
    Plan("due index", Order.DUE, _fits_due_index, (RUN_LANES, HOLD_LANES)),
    Plan("both indexes", Order.DUE, _fits_both_indexes, (RUN_LANES, HOLD_LANES, ENDED_LANES)),
    Plan("table", Order.SCHEDULED, lambda *_: True, (JOBS_BY_DATE,)),
)


def plan_of(wanted: JobFilter, registry: Registry) -> Plan:
    return next(plan for plan in PLANS if plan.fits(wanted, registry))


_ON_THE_JOB = (
    *("job_type", "status", "created_at", "completed_at"),
    *("dedup_key", "concurrency_key", "schedule", "template"),
)
# One dedup record is looked up per type: of more types than these, all jobs are searched instead.
_MOST_KEYED_TYPES = 6
_TRIED_AGAIN_WITHIN = timedelta(hours=1)


def _dates(
    name: str, start: datetime | None, end: datetime | None, wanted: JobFilter, context: QueryContext
) -> Iterator[Scan]:
    # The system's own jobs have a partition of their own, where no listing of others meets them.
    return _scans(
        name,
        TABLE_ORDER,
        table_partitions(wanted, context.registry),
        first=_dated("scheduled#", start),
        last=_dated("scheduled#", end),
        where=wanted.conditions(*_ON_THE_JOB),
    )


def table_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    return registry.partitions(*([] if wanted.job_type is None else [wanted.job_type]))


def ended_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    return [
        ended_lane(status, job_type) for job_type in wanted.types(registry) for status in sorted(wanted.wanted_statuses)
    ]


def _dated(prefix: str, at: datetime | None) -> str | None:
    return None if at is None else f"{prefix}{to_text(at)}"


_IN_THE_DUE_INDEX = ("job_type", "status", "concurrency_key")


def due_scans(
    name: str, lanes: Sequence[str], wanted: JobFilter, *, first: str | None = None, last: str | None = None
) -> Iterator[Scan]:
    # Always by status: scopes, schedules, groups and what owes an effect wait in the same lanes.
    where = wanted.conditions(*_IN_THE_DUE_INDEX)
    return _scans(name, DUE_JOBS, lanes, first=first, last=last, where=where, keep=may_match(wanted))


def _scans(name: str, source: Source, partitions: Sequence[str], **bounds: Any) -> Iterator[Scan]:
    """As many partitions in each as can be merged into one order."""
    for number, some in enumerate(batched(partitions, MAX_PARTITIONS)):
        yield IndexScan(name=f"{name}{number:04d}", source=source, partitions=some, **bounds)


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
