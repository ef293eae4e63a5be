"""Which plan answers which filter, and that every plan answers as a naive filter would, whatever is combined."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold import JobStatus, JobType, Registry
from leasehold.admin.pages import JobFilter
from leasehold.admin.planning import plan_of
from leasehold.kernel.memory import MemoryTable
from leasehold.testing import FakeClock
from tests.contract.following import check
from tests.contract.population import TYPES, populate
from tests.contract.world import World

if TYPE_CHECKING:
    from leasehold import Job

NOW = FakeClock().now()
FEW = Registry(types={each.name: each for each in TYPES})
MANY = Registry(types={f"type_{n}": JobType(name=f"type_{n}") for n in range(20)})
WITHOUT_INDEX = Registry(types=FEW.types, ended_index=False)


@pytest.mark.parametrize(
    ("asked", "plan"),
    [
        ({}, "table"),
        ({"job_type": "report"}, "table"),
        ({"statuses": {"completed"}}, "ended index"),
        ({"statuses": {"completed"}, "job_type": "report"}, "ended index"),
        ({"statuses": {"completed"}, "scheduled_from": NOW}, "table"),
        ({"statuses": {"dead_letter"}, "scheduled_from": NOW}, "ended index"),
        ({"statuses": {"completed"}, "concurrency_key": "x"}, "table"),
        ({"statuses": {"pending", "completed"}}, "table"),
        ({"ended_from": NOW}, "ended index"),
        ({"ended_from": NOW, "template": "nightly"}, "table"),
        ({"statuses": {"pending"}}, "due index"),
        ({"statuses": {"failed"}, "concurrency_key": "x"}, "due index"),
        ({"statuses": {"pending"}, "scheduled_from": NOW}, "table"),
        ({"statuses": {"failed"}, "scheduled_from": NOW}, "due index"),
        ({"statuses": {"in_progress"}, "scheduled_from": NOW}, "running"),
        ({"statuses": {"in_progress"}, "schedule": "hourly"}, "table"),
        ({"dedup_key": "order-1"}, "dedup key"),
        ({"dedup_key": "order-1", "statuses": {"failed"}}, "dedup key"),
        ({"group_id": "import", "dedup_key": "order-1"}, "group"),
        ({"schedule": "hourly"}, "table"),
        ({"template": "nightly"}, "table"),
    ],
)
def test_the_plan_is_the_one_whose_index_knows_what_is_asked(asked: dict[str, Any], plan: str) -> None:
    assert plan_of(JobFilter(**asked), FEW).name == plan


@pytest.mark.parametrize(
    ("asked", "plan"),
    [
        # More partitions and lanes than one page can merge: no order is left to keep, and lanes are the fewer.
        ({}, "both indexes"),
        ({"statuses": {"completed"}}, "ended index"),
        ({"statuses": {"completed", "pending"}, "scheduled_from": NOW}, "both indexes"),
        ({"statuses": {"completed"}, "scheduled_from": NOW}, "ended index"),
        ({"statuses": {"completed"}, "scheduled_from": NOW, "job_type": "type_1"}, "table"),
        ({"statuses": {"pending"}, "scheduled_from": NOW}, "due index"),
        ({"schedule": "hourly"}, "table"),
        ({"statuses": {"completed"}, "job_type": "type_1"}, "ended index"),
        ({"statuses": {"dead_letter"}}, "ended index"),
        ({"ended_from": NOW}, "ended index"),
        ({"dedup_key": "order-1"}, "table"),
        ({"dedup_key": "order-1", "job_type": "type_1"}, "dedup key"),
    ],
)
def test_with_many_types_the_indexes_answer_what_they_know(asked: dict[str, Any], plan: str) -> None:
    assert plan_of(JobFilter(**asked), MANY).name == plan


def test_without_an_ended_index_the_table_answers() -> None:
    assert plan_of(JobFilter(statuses=frozenset({JobStatus.COMPLETED})), WITHOUT_INDEX).name == "table"


@cache
def populated(shards: int = 1) -> tuple[World, list[Job]]:
    world = World(MemoryTable())
    return world, populate(world, shards=shards)


moments = st.none() | st.integers(-300, 4000).map(lambda minutes: NOW + timedelta(minutes=minutes))


def maybe(*values: str) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(values)


@st.composite
def filters(draw: st.DrawFn) -> JobFilter:
    """Any combination of all fields, on values that some jobs have."""
    first, second, third, fourth = (draw(moments) for _ in range(4))
    scheduled, ended = _ordered(first, second), _ordered(third, fourth)
    return JobFilter(
        job_type=draw(maybe("report", "email", "keyed", "limited", "gone")),
        statuses=draw(st.frozensets(st.sampled_from(JobStatus))),
        scheduled_from=scheduled[0],
        scheduled_to=scheduled[1],
        ended_from=ended[0],
        ended_to=ended[1],
        dedup_key=draw(maybe("order-1", "order-2")),
        concurrency_key=draw(maybe("tenant-0", "tenant-1")),
        group_id=draw(maybe("import")),
        schedule=draw(maybe("hourly")),
        template=draw(maybe("nightly")),
    )


def _ordered(start: Any, end: Any) -> tuple[Any, Any]:
    if start is None or end is None:
        return start, end
    return (start, end) if start < end else (end, start) if end < start else (start, None)


@given(wanted=filters(), limit=st.integers(1, 20))
@settings(max_examples=300, deadline=None)
def test_any_combination_lists_what_a_naive_filter_finds_each_once(wanted: JobFilter, limit: int) -> None:
    for shards in (1, 4):
        world, jobs = populated(shards)

        check(world, jobs, wanted, limit)


@pytest.mark.parametrize(
    "asked",
    [
        {"job_type": "report"},
        *({"statuses": {each}} for each in JobStatus),
        {"scheduled_from": NOW + timedelta(hours=1), "scheduled_to": NOW + timedelta(hours=2)},
        {"ended_from": NOW + timedelta(hours=1)},
        {"ended_to": NOW + timedelta(hours=1)},
        {"dedup_key": "order-1"},
        {"concurrency_key": "tenant-1"},
        {"group_id": "import"},
        {"schedule": "hourly"},
        {"template": "nightly"},
    ],
)
def test_each_field_alone_lists_what_a_naive_filter_finds_and_finds_something(asked: dict[str, Any]) -> None:
    world, jobs = populated()
    wanted = JobFilter(**asked)

    assert any(wanted.matches(job) for job in jobs)
    check(world, jobs, wanted, 5)
