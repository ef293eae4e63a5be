"""Counts of jobs per status and type. Beyond 10,000 they say "at least": exact ones would cost more than they tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from statistics import quantiles
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from leasehold.admin.pages import JobFilter
from leasehold.admin.planning import run_lanes
from leasehold.admin.scanning import QueryContext
from leasehold.documents import set_only
from leasehold.kernel.jobs import due_entry, ended_lane
from leasehold.kernel.keys import Due, from_text, to_text
from leasehold.kernel.partitions import pages
from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.kernel.transitions import ENDED, WAITING, JobStatus
from leasehold.kernel.trust import is_trusted, trusted_jobs
from leasehold.operate.listings import job_id_in
from leasehold.pool import ahead

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leasehold.documents import Document
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services


COUNT_LIMIT = 10_000
_PAGE = 2_500
# Held jobs are counted in so many lanes; with more, what waits is counted as "at least".
_MOST_LANES = 80


class Counted(TypedDict):
    """At least so many; exactly so many where it `is_exact`."""

    value: int
    is_exact: bool


# Jobs in the due index, as far as they were read; of some states there may be more.
type _Live = tuple[Counter[tuple[JobStatus, str]], set[JobStatus]]


def count_jobs(services: Services) -> Document:
    """Per status the total, and each type that has such jobs; and the open dead letters."""
    context = QueryContext(services)
    live, inexact = _live(services, context)
    statuses: dict[JobStatus, dict[str, Counted]] = {status: {} for status in JobStatus}
    for (status, job_type), value in sorted(live.items()):
        statuses[status][job_type] = Counted(value=value, is_exact=status not in inexact)
    if context.registry.ended_index:
        lanes = [(status, job_type) for job_type in JobFilter().types(context.registry) for status in sorted(ENDED)]
        count = partial(services.store.table.count, JOBS, index=ENDED_INDEX, limit=COUNT_LIMIT)
        for (status, job_type), value in ahead(services.pool, lambda lane: count(ended_lane(*lane)), lanes):
            if value:
                statuses[status][job_type] = _counted(value)
    return {
        "at": to_text(context.now),
        "statuses": {
            str(status): {"total": _total(types.values()), "types": dict(sorted(types.items()))}
            for status, types in statuses.items()
        },
        "dead_letters": _counted(services.store.dead_letters.depth(limit=COUNT_LIMIT)),
    }


def _total(counted: Collection[Counted]) -> Counted:
    return Counted(value=sum(each["value"] for each in counted), is_exact=all(each["is_exact"] for each in counted))


def _counted(value: int) -> Counted:
    return Counted(value=value, is_exact=value < COUNT_LIMIT)


def _live(services: Services, context: QueryContext) -> _Live:
    live, inexact = Counter[tuple[JobStatus, str]](), set[JobStatus]()
    held, is_whole = context.waiting_lanes(None)
    wanted = [*run_lanes(context.registry.shards), *held[:_MOST_LANES]]
    for _, (found, more) in ahead(services.pool, lambda lane: _count_lane(lane, services, context), wanted):
        live.update(found)
        inexact |= more
    if len(held) > _MOST_LANES or not is_whole:
        inexact |= WAITING
    return live, inexact


def _count_lane(lane: str, services: Services, context: QueryContext) -> _Live:
    """By due time: what runs is due before what is scheduled for later, so it is counted first."""
    live, cursor = Counter[tuple[JobStatus, str]](), None
    read = partial(services.store.table.query, JOBS, lane, index=DUE_INDEX, limit=_PAGE)
    for page in islice(pages(read), COUNT_LIMIT // _PAGE):
        for entry in trusted_jobs(map(due_entry, page.records), services):
            if not entry.status.has_ended and JobFilter().is_of_type(entry.job_type):
                live[entry.status, entry.job_type] += 1
        cursor = page.cursor
    if cursor is None:
        return live, set()
    may_run = Due.parse(str(cursor["due_key"])).at <= context.leases_over
    return live, {*WAITING, *([JobStatus.IN_PROGRESS] if may_run else [])}


HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
# Of each status and type; a type that ended more of them is complete only for the time that they cover.
_PER_LANE = 1000
# The jobs that ended last are looked at for how late they started, as many as one request can fetch.
_SAMPLE = 100


class _End(NamedTuple):
    at: datetime
    status: JobStatus
    job_type: str
    job_id: JobId


def last_hour(services: Services) -> Document | None:
    """None where the deployment has no ended index.

    minutes: 60 and the one that is not over, the oldest first, each with how many jobs ended in each state.
    types: the same for each type over the whole hour.
    complete_since: from then on nothing is missing; later than the hour's start if more ended than were read.
    """
    registry, now = services.deployment.registry(), services.clock.now()
    if not registry.ended_index:
        return None
    start = now - HOUR
    ends: list[_End] = []
    complete_since = start
    for job_type in JobFilter().types(registry):
        for status in sorted(ENDED):
            read, is_all = _ends(status, job_type, start, services)
            ends += read
            if not is_all:
                complete_since = max(complete_since, read[-1].at)
    per_minute = {_minute_of(start) + n * _MINUTE: Counter[JobStatus]() for n in range(61)}
    per_type: defaultdict[str, Counter[JobStatus]] = defaultdict(Counter)
    for end in ends:
        per_minute.setdefault(_minute_of(end.at), Counter())[end.status] += 1
        per_type[end.job_type][end.status] += 1
    return {
        "start": to_text(start),
        "end": to_text(now),
        "complete_since": to_text(complete_since),
        "minutes": [{"at": to_text(at), "ended": _by_status(ended)} for at, ended in sorted(per_minute.items())],
        "types": {job_type: _by_status(ended) for job_type, ended in sorted(per_type.items())},
        **set_only(lateness=_lateness(ends, services)),
    }


def _by_status(ended: Mapping[JobStatus, int]) -> Document:
    return {str(status): ended[status] for status in JobStatus if ended.get(status)}


def _ends(status: JobStatus, job_type: str, start: datetime, services: Services) -> tuple[list[_End], bool]:
    """The latest ends of one status and type, and whether those are all of the hour."""
    page = services.store.table.query(
        JOBS,
        ended_lane(status, job_type),
        index=ENDED_INDEX,
        first=to_text(start),
        limit=_PER_LANE,
        newest_first=True,
    )
    ends = [
        _End(from_text(cast("str", record["ended_key"]).partition("#")[0]), status, job_type, job_id)
        for record in page.records
        if (job_id := job_id_in(record)) is not None and is_trusted(job_id, job_type, services)
    ]
    return ends, page.cursor is None or not ends


def _minute_of(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _lateness(ends: list[_End], services: Services) -> Document | None:
    """From when a job was meant to run to its first start, over a sample of those that ended last."""
    ran = sorted((end for end in ends if end.status is not JobStatus.CANCELLED), key=lambda end: end.at)
    jobs, _ = services.store.listings.look_up([end.job_id for end in ran[-_SAMPLE:]])
    seconds = sorted(delay.total_seconds() for job in jobs.values() if (delay := _late(job)) is not None)
    if not seconds:
        return None
    cuts = quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else seconds * 19
    return {"sample": len(seconds), "median": round(cuts[9], 6), "p95": round(cuts[18], 6), "longest": seconds[-1]}


def _late(job: Job) -> timedelta | None:
    """None where the first start is not known any more, or was not meant to be at the job's own time."""
    is_first = bool(job.runs) and job.runs[0].number == 1
    if not is_first or job.group_id is not None:
        return None
    return max(job.runs[0].started_at - max(job.scheduled_for, job.created_at), timedelta(0))
