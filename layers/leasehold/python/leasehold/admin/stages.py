"""The stages of plans, as data: what it costs to know their legs, and which legs those are for a filter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import batched
from typing import TYPE_CHECKING

from leasehold.admin.lanes import due_legs, hold_lanes, may_match, run_lanes
from leasehold.admin.legs import (
    DEDUP_RECORDS,
    ENDED_JOBS,
    MAX_PARTITIONS,
    TABLE_ORDER,
    Members,
    Walk,
)
from leasehold.admin.pages import Order
from leasehold.domain.dedup import NO_WINDOW, DedupRef
from leasehold.domain.due import due_until
from leasehold.domain.instants import to_text
from leasehold.domain.job_type import CLOCK_TOLERANCE
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import ENDED, JobStatus
from leasehold.store import keys
from leasehold.store.jobs import ended_lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from leasehold.admin.filters import JobFilter
    from leasehold.admin.legs import Leg
    from leasehold.admin.scenes import Scene
    from leasehold.domain.control import Registry

_ON_THE_JOB = (
    *("job_type", "status", "created_at", "completed_at"),
    *("dedup_key", "concurrency_key", "schedule", "template"),
)
# One dedup record is looked up per type: of more types than these, all jobs are searched instead.
_MOST_KEYED_TYPES = 6
_TRIED_AGAIN_WITHIN = timedelta(hours=1)
LIVE = frozenset(JobStatus) - ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`name` is where it stands among the stages of its plan; the names of its legs begin with it."""

    name: str
    # Requests that finding out its legs takes.
    cost: int = 0
    # Whether an earlier stage has shown the jobs that their dedup record points to.
    without_key_holders: bool = False
    legs: Callable[[JobFilter, Scene], Iterable[Leg]]


def _members(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    assert wanted.group_id is not None
    yield Members(name="1-members:", group=scene.group(wanted.group_id), order=Order.MEMBER)


def _key_holders(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    for job_type in keyed_types(wanted, scene.registry):
        assert wanted.dedup_key is not None
        partition = keys.dedup(DedupRef(job_type, wanted.dedup_key, NO_WINDOW)).values[0]
        yield Walk(name=f"1-keys:{job_type}", source=DEDUP_RECORDS, order=Order.DEDUP_WINDOW, partitions=(partition,))


def _jobs_by_date(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    """All dates, the latest first. What has run is of the past; what was run before its time comes last.

    Jobs of schedules are made when their time has come.
    """
    start, end = wanted.scheduled_from, wanted.scheduled_to
    soon = scene.now + CLOCK_TOLERANCE
    may_wait_for_later = JobStatus.PENDING in wanted.wanted_statuses and wanted.schedule is None
    if may_wait_for_later or (end is not None and end <= soon):
        yield from _dates("2-table:a", start, end, wanted, scene)
        return
    if start is None or start < soon:
        yield from _dates("2-table:a", start, soon, wanted, scene)
    yield from _dates("2-table:b", soon if start is None else max(start, soon), end, wanted, scene)


def _dates(name: str, start: datetime | None, end: datetime | None, wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    # The system's own jobs have a partition of their own, where no listing of others meets them.
    partitions = table_partitions(wanted, scene.registry)
    where = wanted.conditions(*_ON_THE_JOB)
    for number, some in enumerate(batched(partitions, MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"{name}{number:04d}",
            source=TABLE_ORDER,
            order=Order.SCHEDULED,
            partitions=some,
            first=_dated("scheduled#", start),
            last=_dated("scheduled#", end),
            where=where,
            is_filtered=bool(where),
        )


def _ended_lanes(wanted: JobFilter, scene: Scene, *, name: str = "1-ended") -> Iterator[Leg]:
    for number, some in enumerate(batched(ended_partitions(wanted, scene.registry), MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"{name}:{number:04d}",
            source=ENDED_JOBS,
            order=Order.ENDED,
            partitions=some,
            first=_dated("", wanted.ended_from),
            last=_dated("", wanted.ended_to),
            keep=may_match(wanted),
            is_filtered="scheduled" in wanted.asked,
        )


def _run_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    """What waits for its own type, which would else be found behind all that is due later; then what may run.

    What failed is mostly tried again soon: it would else be found behind all that is scheduled for later.
    """
    lanes, soon = run_lanes(scene.registry.shards), due_until(scene.now + _TRIED_AGAIN_WITHIN)
    if wanted.job_type is not None:
        yield from due_legs("1-run:a", hold_lanes(wanted.job_type), wanted)
    if JobStatus.PENDING in wanted.wanted_statuses:
        yield from due_legs("1-run:b", lanes, wanted)
    else:
        yield from due_legs("1-run:b", lanes, wanted, last=soon)
        yield from due_legs("1-run:c", lanes, wanted, first=soon)


def _running_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    """Leases end soon: what is due later than the longest of them need not be read."""
    return due_legs("1-run:", run_lanes(scene.registry.shards), wanted, last=due_until(scene.leases_over))


def _held_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    # Those of the type itself were read with the run lanes.
    read = set() if wanted.job_type is None else set(hold_lanes(wanted.job_type))
    lanes = [lane for lane in scene.waiting_lanes(wanted.job_type).names if lane not in read]
    legs = (leg for lane in lanes for leg in due_legs(f"2-hold:{lane}:", [lane], wanted))
    # By the names of the legs, which a cursor is compared with.
    return iter(sorted(legs, key=lambda leg: leg.name))


def _only(statuses: frozenset[JobStatus], wanted: JobFilter) -> JobFilter:
    return replace(wanted, statuses=wanted.wanted_statuses & statuses)


MEMBERS = Stage(name="1-members", cost=1, legs=_members)
KEY_HOLDERS = Stage(name="1-keys", legs=_key_holders)
OTHER_JOBS_BY_DATE = Stage(name="2-table", legs=_jobs_by_date, without_key_holders=True)
JOBS_BY_DATE = Stage(name="2-table", legs=_jobs_by_date)
ENDED_LANES = Stage(name="1-ended", legs=_ended_lanes)
RUNNING_LANES = Stage(name="1-run", legs=_running_lanes)
RUN_LANES = Stage(name="1-run", legs=_run_lanes)
HOLD_LANES = Stage(name="2-hold", cost=7, legs=_held_lanes)
# Of jobs of all states: those that have not ended from the due index, then the others from the ended index.
LIVE_RUN_LANES = Stage(name="1-run", legs=lambda wanted, scene: _run_lanes(_only(LIVE, wanted), scene))
LIVE_HOLD_LANES = Stage(name="2-hold", cost=7, legs=lambda wanted, scene: _held_lanes(_only(LIVE, wanted), scene))
ENDED_LAST = Stage(name="3-ended", legs=lambda wanted, scene: _ended_lanes(_only(ENDED, wanted), scene, name="3-ended"))


def table_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    return registry.partitions(*([] if wanted.job_type is None else [wanted.job_type]))


def ended_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    return [
        ended_lane(status, job_type) for job_type in wanted.types(registry) for status in sorted(wanted.wanted_statuses)
    ]


def keyed_types(wanted: JobFilter, registry: Registry) -> list[str]:
    """The types whose dedup records are looked up for a dedup key; none if there are too many."""
    if wanted.dedup_key is None:
        return []
    types = wanted.types(registry)
    return types if len(types) <= _MOST_KEYED_TYPES else []


def _dated(prefix: str, at: datetime | None) -> str | None:
    return None if at is None else f"{prefix}{to_text(at)}"
