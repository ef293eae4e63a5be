"""Plan: which index answers a filter, see `plan_of`.

A plan is a row of stages, a stage some scans. What an index cannot tell apart is read from the table's own
order and filtered there: 1,000 jobs a request, where fetching what an index points to would be 100.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from leasehold.admin.pages import Order
from leasehold.admin.scanning import (
    DEDUP_RECORDS,
    DUE_JOBS,
    ENDED_JOBS,
    MAX_PARTITIONS,
    TABLE_ORDER,
    IndexScan,
)
from leasehold.kernel import partitions
from leasehold.kernel.job import NO_WINDOW, DedupRef
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.keys import Priority, due_until, scheduled_for_of, to_text
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.transitions import ENDED, JobStatus
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.limits.lanes import hold_lane
from leasehold.operate.listings import job_id_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from leasehold.admin.pages import JobFilter
    from leasehold.admin.scanning import QueryContext, Source
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.table import Record


class Stage(NamedTuple):
    """`name` is where it stands among the stages of its plan; the names of its scans begin with it."""

    name: str
    scans: Callable[[JobFilter, QueryContext], Iterable[IndexScan]]
    # Requests that finding out its scans takes.
    cost: int = 0


class Plan(NamedTuple):
    name: str
    order: Order
    stages: tuple[Stage, ...]

    def is_ordered(self, wanted: JobFilter, context: QueryContext) -> bool:
        """Whether the whole listing is one merge of partitions, or part follows part."""
        return len(self.stages) < 2 and all(len(list(each.scans(wanted, context))) < 2 for each in self.stages)


def _key_holders(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    for job_type in _keyed_types(wanted, context.registry):
        assert wanted.dedup_key is not None
        partition = partitions.dedup(DedupRef(job_type, wanted.dedup_key, NO_WINDOW)).values[0]
        yield IndexScan(name=f"1-keys:{job_type}", source=DEDUP_RECORDS, partitions=(partition,))


def _jobs_by_date(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    """All dates, the latest first. What has run is of the past; what was run before its time comes last.

    Jobs of schedules are made when their time has come.
    """
    start, end, soon = wanted.scheduled_from, wanted.scheduled_to, context.now + CLOCK_TOLERANCE
    may_wait_for_later = JobStatus.PENDING in wanted.wanted_statuses and wanted.schedule is None
    if may_wait_for_later or (end is not None and end <= soon):
        parts = [("a", start, end)]
    else:
        parts = [("a", start, soon), ("b", max(start or soon, soon), end)]
    for name, first, last in parts:
        if first is None or last is None or first < last:
            yield from _scans(
                f"2-table:{name}",
                TABLE_ORDER,
                _table_partitions(wanted, context.registry),
                first=_dated("scheduled#", first),
                last=_dated("scheduled#", last),
                where=wanted.conditions(),
            )


def _ended_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    wanted = _only(ENDED, wanted)
    return _scans(
        "3-ended:",
        ENDED_JOBS,
        _ended_partitions(wanted, context.registry),
        first=_dated("", wanted.ended_from),
        last=_dated("", wanted.ended_to),
        keep=partial(_may_match, wanted) if "scheduled" in wanted.asked else None,
    )


def _running_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    """Leases end soon: what is due later than the longest of them need not be read."""
    return _due_scans("1-run:", run_lanes(context.registry.shards), wanted, last=due_until(context.leases_over))


def _run_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    """What waits for its own type, which would else be found behind all that is due later; then what may run.

    What failed is mostly tried again soon: it would else be found behind all that is scheduled for later.
    """
    wanted = _only(_LIVE, wanted)
    lanes, soon = run_lanes(context.registry.shards), due_until(context.now + _TRIED_AGAIN_WITHIN)
    yield from _due_scans("1-run:a", _own_lanes(wanted), wanted)
    if JobStatus.PENDING in wanted.wanted_statuses:
        yield from _due_scans("1-run:b", lanes, wanted)
    else:
        yield from _due_scans("1-run:b", lanes, wanted, last=soon)
        yield from _due_scans("1-run:c", lanes, wanted, first=soon)


def _held_lanes(wanted: JobFilter, context: QueryContext) -> Iterator[IndexScan]:
    wanted = _only(_LIVE, wanted)
    # Those of the type itself were read with the run lanes.
    lanes = set(context.waiting_lanes(wanted.job_type)[0]) - set(_own_lanes(wanted))
    scans = (scan for lane in lanes for scan in _due_scans(f"2-hold:{lane}:", [lane], wanted))
    # By the names of the scans, which a cursor is compared with.
    return iter(sorted(scans, key=lambda scan: scan.name))


def _own_lanes(wanted: JobFilter) -> list[str]:
    """Where jobs wait for the type that is asked for."""
    if wanted.job_type is None:
        return []
    return [hold_lane(wanted.job_type, priority) for priority in sorted(Priority, reverse=True)]


def _only(statuses: frozenset[JobStatus], wanted: JobFilter) -> JobFilter:
    """Of jobs of all states, those that one of the indexes knows."""
    return replace(wanted, statuses=wanted.wanted_statuses & statuses)


_LIVE = frozenset(JobStatus) - ENDED
_JOBS_BY_DATE = Stage("2-table", _jobs_by_date)
_RUN_LANES = Stage("1-run", _run_lanes)
_HELD_LANES = Stage("2-hold", _held_lanes, cost=7)
_ENDED_LANES = Stage("3-ended", _ended_lanes)

# Members of a group are found by their numbers, without a scan.
GROUP = Plan("group", Order.MEMBER, ())
DEDUP_KEY = Plan("dedup key", Order.DEDUP_WINDOW, (Stage("1-keys", _key_holders), _JOBS_BY_DATE))
ENDED_INDEX = Plan("ended index", Order.ENDED, (_ENDED_LANES,))
RUNNING = Plan("running", Order.DUE, (Stage("1-run", _running_lanes),))
DUE_INDEX = Plan("due index", Order.DUE, (_RUN_LANES, _HELD_LANES))
BOTH_INDEXES = Plan("both indexes", Order.DUE, (_RUN_LANES, _HELD_LANES, _ENDED_LANES))
TABLE = Plan("table", Order.SCHEDULED, (_JOBS_BY_DATE,))

_BY_ENDED_INDEX = frozenset({"statuses", "job_type", "ended", "scheduled"})
_BY_BOTH_INDEXES = frozenset({"statuses", "scheduled"})
_BY_DUE_INDEX = frozenset({"statuses", "job_type", "concurrency_key", "scheduled"})


def plan_of(wanted: JobFilter, registry: Registry) -> Plan:
    """The table answers what no index knows, or what is had from its own order sooner."""
    asked, statuses = wanted.asked, wanted.wanted_statuses
    # Jobs of all types are in more partitions than a page can look into: then no order is left to keep.
    is_spread = wanted.job_type is None and len(_table_partitions(wanted, registry)) > MAX_PARTITIONS
    if "group_id" in asked:
        return GROUP
    if _keyed_types(wanted, registry):
        return DEDUP_KEY
    if statuses <= ENDED:
        knows = registry.ended_index and asked <= _BY_ENDED_INDEX
        return ENDED_INDEX if knows and (is_spread or _is_sooner_by_end(wanted, registry)) else TABLE
    if statuses & ENDED:
        # Lanes are fewer than partitions, and the due index knows no types.
        return BOTH_INDEXES if is_spread and registry.ended_index and asked <= _BY_BOTH_INDEXES else TABLE
    # Pending jobs of a range of dates are had from the table, which is ordered by just that.
    is_by_date = JobStatus.PENDING in statuses and "scheduled" in asked
    if not asked <= _BY_DUE_INDEX or (is_by_date and not is_spread):
        return TABLE
    return RUNNING if statuses == {JobStatus.IN_PROGRESS} else DUE_INDEX


def _is_sooner_by_end(wanted: JobFilter, registry: Registry) -> bool:
    """Completed jobs are the many: a range of scheduled dates, or the order of more partitions than can be merged, is
    had from the table sooner. Of the few that were cancelled or died, each is found sooner by its end."""
    if "ended" in wanted.asked or JobStatus.COMPLETED not in wanted.wanted_statuses:
        return True
    return "scheduled" not in wanted.asked and len(_ended_partitions(wanted, registry)) <= MAX_PARTITIONS


def _keyed_types(wanted: JobFilter, registry: Registry) -> list[str]:
    """The types whose dedup records are looked up for a dedup key; none if there are too many."""
    types = [] if wanted.dedup_key is None else wanted.types(registry)
    return types if len(types) <= _MOST_KEYED_TYPES else []


# One dedup record is looked up per type: of more types than these, all jobs are searched instead.
_MOST_KEYED_TYPES = 6
_TRIED_AGAIN_WITHIN = timedelta(hours=1)


def _table_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    # The system's own jobs have a partition of their own, where no listing of others meets them.
    return partitions.of_jobs(registry, *([] if wanted.job_type is None else [wanted.job_type]))


def _ended_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    return [
        ended_lane(status, job_type) for job_type in wanted.types(registry) for status in sorted(wanted.wanted_statuses)
    ]


def _dated(prefix: str, at: datetime | None) -> str | None:
    return None if at is None else f"{prefix}{to_text(at)}"


def _due_scans(
    name: str, lanes: Sequence[str], wanted: JobFilter, *, first: str | None = None, last: str | None = None
) -> Iterator[IndexScan]:
    # Always by status: scopes, schedules, groups and what owes an effect wait in the same lanes.
    where = wanted.conditions()
    return _scans(name, DUE_JOBS, lanes, first=first, last=last, where=where, keep=partial(_may_match, wanted))


def _scans(name: str, source: Source, partitions: Sequence[str], **bounds: Any) -> Iterator[IndexScan]:
    """As many partitions in each as can be merged into one order."""
    for number, some in enumerate(batched(partitions, MAX_PARTITIONS)):
        yield IndexScan(name=f"{name}{number:04d}", source=source, partitions=some, **bounds)


def run_lanes(shards: int) -> list[str]:
    return [lane for level in lanes_by_priority(shards) for lane in level]


def _may_match(wanted: JobFilter, entry: Record) -> bool:
    """Whether an entry of an index is of a job that can match: both of ours tell its type, and its id its date."""
    is_of_type = wanted.is_of_type(cast("str", entry.get("job_type")))
    job_id = job_id_in(entry)
    # What is no job's is left to whoever reports it.
    return is_of_type and (job_id is None or wanted.schedules(scheduled_for_of(job_id)))
