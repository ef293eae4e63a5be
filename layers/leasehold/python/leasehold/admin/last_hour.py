"""The last hour, for charts: how many jobs ended in each minute, how, and how late they had started."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from statistics import quantiles
from typing import TYPE_CHECKING, cast

from leasehold.admin.filters import JobFilter
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import ENDED, JobStatus
from leasehold.engine.trust import is_trusted
from leasehold.store.definition import ENDED_INDEX, JOBS
from leasehold.store.jobs import ended_lane, job_id_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
# Of each status and type; a type that ended more of them is complete only for the time that they cover.
_PER_LANE = 1000
# The jobs that ended last are looked at for how late they started, as many as one request can fetch.
_SAMPLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """From when a job was meant to run to its first start, over a sample of those that ended last."""

    sample: int
    median: timedelta
    p95: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHour:
    """minutes: 60 and the one that is not over, the oldest first, each with how many jobs ended in each state.

    types: the same for each type over the whole hour.
    complete_since: from then on nothing is missing; later than the hour's start if more ended than were read.
    """

    start: datetime
    end: datetime
    minutes: tuple[tuple[datetime, Mapping[JobStatus, int]], ...]
    types: Mapping[str, Mapping[JobStatus, int]]
    complete_since: datetime
    lateness: Lateness | None


@dataclass(frozen=True, slots=True)
class _End:
    at: datetime
    status: JobStatus
    job_type: str
    job_id: JobId


def last_hour(parts: Parts) -> LastHour | None:
    """None where the deployment has no ended index."""
    registry, now = parts.deployment.registry(), parts.clock.now()
    if not registry.ended_index:
        return None
    start = now - HOUR
    ends: list[_End] = []
    complete_since = start
    for job_type in JobFilter().types(registry):
        for status in sorted(ENDED):
            read, is_all = _ends(status, job_type, start, parts)
            ends += read
            if not is_all:
                complete_since = max(complete_since, read[-1].at)
    first = start.replace(second=0, microsecond=0)
    per_minute: dict[datetime, Counter[JobStatus]] = {first + n * _MINUTE: Counter() for n in range(61)}
    per_type: dict[str, Counter[JobStatus]] = {}
    for end in ends:
        per_minute.setdefault(end.at.replace(second=0, microsecond=0), Counter())[end.status] += 1
        per_type.setdefault(end.job_type, Counter())[end.status] += 1
    return LastHour(
        start=start,
        end=now,
        minutes=tuple(sorted(per_minute.items())),
        types=per_type,
        complete_since=complete_since,
        lateness=_lateness(ends, parts),
    )


def _ends(status: JobStatus, job_type: str, start: datetime, parts: Parts) -> tuple[list[_End], bool]:
    """The latest ends of one status and type, and whether those are all of the hour."""
    page = parts.store.table.query(
        JOBS,
        ended_lane(status, job_type),
        index=ENDED_INDEX,
        first=to_text(start),
        limit=_PER_LANE,
        newest_first=True,
    )
    ends = [
        _End(_ended_at(cast("str", record["ended_key"])), status, job_type, job_id)
        for record in page.records
        if (job_id := job_id_in(record)) is not None and is_trusted(job_id, job_type, parts)
    ]
    return ends, page.cursor is None or not ends


def _ended_at(ended_key: str) -> datetime:
    return from_text(ended_key.partition("#")[0])


def _lateness(ends: list[_End], parts: Parts) -> Lateness | None:
    ran = sorted((end for end in ends if end.status is not JobStatus.CANCELLED), key=lambda end: end.at)
    jobs, _ = parts.store.jobs.look_up([end.job_id for end in ran[-_SAMPLE:]])
    delays = sorted(delay for job in jobs.values() if (delay := _late(job)) is not None)
    if not delays:
        return None
    seconds = [delay.total_seconds() for delay in delays]
    cuts = quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else seconds * 19
    return Lateness(
        sample=len(delays),
        median=timedelta(seconds=cuts[9]),
        p95=timedelta(seconds=cuts[18]),
        longest=delays[-1],
    )


def _late(job: Job) -> timedelta | None:
    """None where the first start is not known any more, or was not meant to be at the job's own time."""
    is_first = bool(job.runs) and job.runs[0].number == 1
    if not is_first or job.group_id is not None:
        return None
    return max(job.runs[0].started_at - max(job.scheduled_for, job.created_at), timedelta(0))
