"""Counts of jobs per status and type. Beyond 10,000 they say "at least": exact ones would cost more than they tell."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leasehold.admin.budget import Budget
from leasehold.admin.filters import JobFilter
from leasehold.admin.scenes import Scene
from leasehold.domain.due import Due, lanes_by_priority
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import ENDED, JobStatus
from leasehold.engine.trust import trusted_jobs
from leasehold.store.definition import DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.store.jobs import due_entry, ended_lane

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueJob
    from leasehold.store.table import Record

COUNT_LIMIT = 10_000
_PAGE = 2_500
# Held jobs are counted in so many lanes; with more, what waits is counted as "at least".
_MOST_LANES = 80


@dataclass(frozen=True, slots=True)
class Counted:
    """At least so many; exactly so many where it `is_exact`."""

    value: int
    is_exact: bool = True

    def __str__(self) -> str:
        return f"{self.value:,}" if self.is_exact else f"{self.value:,}+"

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.value + other.value, self.is_exact and other.is_exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """statuses: per status, per type; types without such jobs are left out. dead_letters: open ones."""

    at: datetime
    statuses: Mapping[JobStatus, Mapping[str, Counted]]
    dead_letters: Counted

    def total(self, status: JobStatus) -> Counted:
        return sum(self.statuses.get(status, {}).values(), Counted(0))


@dataclass(slots=True)
class _Live:
    """Jobs in the due index, as far as they were read."""

    counted: Counter[tuple[JobStatus, str]]
    # What may have been left unread.
    inexact: set[JobStatus]


def count_jobs(parts: Parts) -> Counts:
    scene = Scene(parts, Budget())
    live = _live(parts, scene)
    statuses: dict[JobStatus, dict[str, Counted]] = {status: {} for status in JobStatus}
    for (status, job_type), value in sorted(live.counted.items()):
        statuses[status][job_type] = Counted(value, status not in live.inexact)
    if scene.registry.ended_index:
        for job_type in JobFilter().types(scene.registry):
            for status in sorted(ENDED):
                counted = _ended(status, job_type, parts)
                if counted.value:
                    statuses[status][job_type] = counted
    letters = parts.store.letters.depth(limit=COUNT_LIMIT)
    return Counts(at=scene.now, statuses=statuses, dead_letters=Counted(letters, letters < COUNT_LIMIT))


def _ended(status: JobStatus, job_type: str, parts: Parts) -> Counted:
    lane = ended_lane(status, job_type)
    value = parts.store.table.count(JOBS, lane, index=ENDED_INDEX, limit=COUNT_LIMIT)
    return Counted(value, value < COUNT_LIMIT)


def _live(parts: Parts, scene: Scene) -> _Live:
    live = _Live(Counter(), set())
    for lane in (lane for level in lanes_by_priority(scene.registry.shards) for lane in level):
        _count_lane(lane, live, parts, scene)
    lanes = scene.waiting_lanes(None)
    for lane in lanes.names[:_MOST_LANES]:
        _count_lane(lane, live, parts, scene)
    if len(lanes.names) > _MOST_LANES or not lanes.is_whole:
        live.inexact |= {JobStatus.PENDING, JobStatus.FAILED}
    return live


def _is_counted(entry: DueJob) -> bool:
    return not entry.status.has_ended and JobFilter().is_of_type(entry.job_type)


def _count_lane(lane: str, live: _Live, parts: Parts, scene: Scene) -> None:
    """By due time: what runs is due before what is scheduled for later, so it is counted first."""
    cursor: Record | None = None
    for _ in range(COUNT_LIMIT // _PAGE):
        page = parts.store.table.query(JOBS, lane, index=DUE_INDEX, limit=_PAGE, after=cursor)
        entries = trusted_jobs(map(due_entry, page.records), parts)
        live.counted.update((entry.status, entry.job_type) for entry in entries if _is_counted(entry))
        cursor = page.cursor
        if cursor is None:
            return
    live.inexact |= {JobStatus.PENDING, JobStatus.FAILED}
    if cursor is not None and Due.parse(str(cursor["due_key"])).at <= scene.leases_over:
        live.inexact.add(JobStatus.IN_PROGRESS)
