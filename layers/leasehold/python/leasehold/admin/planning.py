"""Plan: which index answers a filter. The first plan of `PLANS` that fits is taken.

A plan is a row of stages, a stage some legs (legs.py). What an index cannot tell apart is read from the table's own
order and filtered there: 1,000 jobs a request, where fetching what an index points to would be 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin import stages
from leasehold.admin.legs import MAX_PARTITIONS
from leasehold.admin.pages import Order
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import ENDED, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.admin.filters import JobFilter
    from leasehold.admin.scenes import Scene
    from leasehold.admin.stages import Stage
    from leasehold.domain.control import Registry

_BY_ENDED_INDEX = frozenset({"statuses", "job_type", "ended", "scheduled"})
_BY_BOTH_INDEXES = frozenset({"statuses", "scheduled"})
_BY_DUE_INDEX = frozenset({"statuses", "job_type", "concurrency_key", "scheduled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    name: str
    order: Order
    fits: Callable[[JobFilter, Registry], bool]
    stages: tuple[Stage, ...]

    def is_ordered(self, wanted: JobFilter, scene: Scene) -> bool:
        """Whether the whole listing is one merge of partitions, or part follows part."""
        (stage, *others) = self.stages
        # What costs a request to find out are the members of one group, or the last of several stages.
        return not others and (stage.cost > 0 or len(list(stage.legs(wanted, scene))) <= 1)


def _fits_ended_index(wanted: JobFilter, registry: Registry) -> bool:
    """Only end states, and nothing else that the index does not know.

    Completed jobs are the many: a range of scheduled dates, or the order of more partitions than can be merged, is
    had from the table sooner. Of the few that were cancelled or died, each is found sooner here.
    """
    if not (registry.ended_index and wanted.wanted_statuses <= ENDED and wanted.asked <= _BY_ENDED_INDEX):
        return False
    if "ended" in wanted.asked or JobStatus.COMPLETED not in wanted.wanted_statuses or _is_spread(wanted, registry):
        return True
    is_ordered = len(stages.ended_partitions(wanted, registry)) <= MAX_PARTITIONS
    return is_ordered and "scheduled" not in wanted.asked


def _is_spread(wanted: JobFilter, registry: Registry) -> bool:
    """Whether the jobs of all types are in more partitions than a page can look into: then no order is left to keep."""
    return wanted.job_type is None and len(stages.table_partitions(wanted, registry)) > MAX_PARTITIONS


def _fits_due_index(wanted: JobFilter, registry: Registry) -> bool:
    """Only live states. Pending jobs of a range of dates are had from the table, which is ordered by just that."""
    if wanted.wanted_statuses & ENDED or not wanted.asked <= _BY_DUE_INDEX:
        return False
    if _is_spread(wanted, registry):
        return True
    return JobStatus.PENDING not in wanted.wanted_statuses or "scheduled" not in wanted.asked


def _fits_both_indexes(wanted: JobFilter, registry: Registry) -> bool:
    """Jobs of all types that have ended or not: lanes are fewer than partitions, and the due index knows no types."""
    is_both = bool(wanted.wanted_statuses & ENDED) and not wanted.wanted_statuses <= ENDED
    knows = registry.ended_index and wanted.asked <= _BY_BOTH_INDEXES
    return is_both and knows and _is_spread(wanted, registry)


PLANS = (
    Plan(name="group", order=Order.MEMBER, fits=lambda wanted, _: "group_id" in wanted.asked, stages=(stages.MEMBERS,)),
    Plan(
        name="dedup key",
        order=Order.DEDUP_WINDOW,
        fits=lambda wanted, registry: bool(stages.keyed_types(wanted, registry)),
        stages=(stages.KEY_HOLDERS, stages.OTHER_JOBS_BY_DATE),
    ),
    Plan(name="ended index", order=Order.ENDED, fits=_fits_ended_index, stages=(stages.ENDED_LANES,)),
    Plan(
        name="running",
        order=Order.DUE,
        fits=lambda wanted, registry: (
            wanted.wanted_statuses == {JobStatus.IN_PROGRESS} and _fits_due_index(wanted, registry)
        ),
        stages=(stages.RUNNING_LANES,),
    ),
    Plan(name="due index", order=Order.DUE, fits=_fits_due_index, stages=(stages.RUN_LANES, stages.HOLD_LANES)),
    Plan(
        name="both indexes",
        order=Order.DUE,
        fits=_fits_both_indexes,
        stages=(stages.LIVE_RUN_LANES, stages.LIVE_HOLD_LANES, stages.ENDED_LAST),
    ),
    Plan(name="table", order=Order.SCHEDULED, fits=lambda *_: True, stages=(stages.JOBS_BY_DATE,)),
)


def plan_of(wanted: JobFilter, registry: Registry) -> Plan:
    return next(plan for plan in PLANS if plan.fits(wanted, registry))
