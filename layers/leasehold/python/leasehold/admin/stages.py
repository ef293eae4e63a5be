"""The stages of plans, as data: what it costs to know their legs, and which legs those are for a filter."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING

from leasehold.admin.legs import (
    DEDUP_RECORDS,
    DUE_JOBS,
    ENDED_JOBS,
    MAX_PARTITIONS,
    TABLE_ORDER,
    Members,
    Walk,
    job_id_of_entry,
)
from leasehold.admin.pages import Order
from leasehold.domain.dedup import NO_WINDOW, DedupRef
from leasehold.domain.due import Priority, due_until, hold_lane, lanes_by_priority
from leasehold.domain.ids import partition_of, scheduled_for_of
from leasehold.domain.instants import to_text
from leasehold.domain.limits import type_scope
from leasehold.store import keys
from leasehold.store.jobs import ended_lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from leasehold.admin.filters import JobFilter
    from leasehold.admin.legs import Leg
    from leasehold.admin.scenes import Scene
    from leasehold.domain.control import Registry
    from leasehold.store.table import Record

_ON_THE_JOB = ("job_type", "status", "completed_at", "dedup_key", "concurrency_key", "schedule", "template")
_IN_THE_DUE_INDEX = ("job_type", "status", "concurrency_key")
# One dedup record is looked up per type: of more types than these, all jobs are searched instead.
_MOST_KEYED_TYPES = 4


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
    partitions = [partition_of(shard) for shard in range(scene.registry.shards)]
    where = wanted.conditions(*_ON_THE_JOB)
    for number, some in enumerate(batched(partitions, MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"2-table:{number:04d}",
            source=TABLE_ORDER,
            order=Order.SCHEDULED,
            partitions=some,
            first=_dated("scheduled#", wanted.scheduled_from),
            last=_dated("scheduled#", wanted.scheduled_to),
            where=where,
            is_filtered=bool(where),
        )


def _ended_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    for number, some in enumerate(batched(ended_partitions(wanted, scene.registry), MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"1-ended:{number:04d}",
            source=ENDED_JOBS,
            order=Order.ENDED,
            partitions=some,
            first=_dated("", wanted.ended_from),
            last=_dated("", wanted.ended_to),
            keep=_scheduled_in(wanted),
            is_filtered="scheduled" in wanted.asked,
        )


def _run_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    """What may run, and what waits for its own type; the lanes of other scopes follow."""
    held = () if wanted.job_type is None else _hold_lanes(type_scope(wanted.job_type))
    return _due_legs("1-run", [*_all_run_lanes(scene), *held], wanted)


def _running_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    """Leases end soon: what is due later than the longest of them need not be read."""
    return _due_legs("1-run", _all_run_lanes(scene), wanted, last=due_until(scene.leases_over))


def _held_lanes(wanted: JobFilter, scene: Scene) -> Iterator[Leg]:
    scopes = [scope for scope in scene.waiting_scopes() if _may_hold(scope, wanted)]
    legs = (leg for scope in scopes for leg in _due_legs(f"2-hold:{scope}", _hold_lanes(scope), wanted))
    # By the names of the legs, which a cursor is compared with; those of the scopes may be in another order.
    return iter(sorted(legs, key=lambda leg: leg.name))


MEMBERS = Stage(name="1-members", cost=1, legs=_members)
KEY_HOLDERS = Stage(name="1-keys", legs=_key_holders)
OTHER_JOBS_BY_DATE = Stage(name="2-table", legs=_jobs_by_date, without_key_holders=True)
JOBS_BY_DATE = Stage(name="2-table", legs=_jobs_by_date)
ENDED_LANES = Stage(name="1-ended", legs=_ended_lanes)
RUNNING_LANES = Stage(name="1-run", legs=_running_lanes)
RUN_LANES = Stage(name="1-run", legs=_run_lanes)
HOLD_LANES = Stage(name="2-hold", cost=2, legs=_held_lanes)


def ended_partitions(wanted: JobFilter, registry: Registry) -> list[str]:
    types = sorted(registry.types) if wanted.job_type is None else [wanted.job_type]
    return [ended_lane(status, job_type) for job_type in types for status in sorted(wanted.wanted_statuses)]


def keyed_types(wanted: JobFilter, registry: Registry) -> list[str]:
    """The types whose dedup records are looked up for a dedup key; none if there are too many."""
    if wanted.dedup_key is None:
        return []
    types = sorted(registry.types) if wanted.job_type is None else [wanted.job_type]
    return types if len(types) <= _MOST_KEYED_TYPES else []


def _due_legs(name: str, lanes: Sequence[str], wanted: JobFilter, last: str | None = None) -> Iterator[Leg]:
    for number, some in enumerate(batched(lanes, MAX_PARTITIONS, strict=False)):
        yield Walk(
            name=f"{name}:{number:04d}",
            source=DUE_JOBS,
            order=Order.DUE,
            partitions=some,
            last=last,
            # Always by status: scopes, schedules, groups and what owes an effect wait in the same lanes.
            where=wanted.conditions(*_IN_THE_DUE_INDEX),
            keep=_scheduled_in(wanted),
            is_filtered=True,
        )


def _all_run_lanes(scene: Scene) -> list[str]:
    return [lane for level in lanes_by_priority(scene.registry.shards) for lane in level]


def _hold_lanes(scope: str) -> list[str]:
    return [hold_lane(scope, priority) for priority in sorted(Priority, reverse=True)]


def _may_hold(scope: str, wanted: JobFilter) -> bool:
    """Whether jobs that are wanted can wait in this scope, by what its name says."""
    kind, _, rest = scope.partition(":")
    if wanted.job_type is None or kind not in {"type", "key", "rate"}:
        return True
    # The lanes of the type itself were read with the run lanes.
    return kind != "type" and rest.partition(":")[0] == wanted.job_type


def _scheduled_in(wanted: JobFilter) -> Callable[[Record], bool]:
    return lambda record: wanted.schedules(scheduled_for_of(job_id_of_entry(record)))


def _dated(prefix: str, at: datetime | None) -> str | None:
    return None if at is None else f"{prefix}{to_text(at)}"
