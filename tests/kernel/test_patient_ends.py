"""An outage of the table at the end of a run: work that is done is not thrown away, nor done again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import CircuitBreaker, JobStatus, JobType, NonRetryableError
from leasehold.circuit_breaker.circuits import circuit_of_type
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.memory import MemoryTable
from tests.contract.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold import JobContext

HALF_A_MINUTE = timedelta(seconds=30)
GUARDED = JobType(
    name="report", timeout=timedelta(minutes=10), max_attempts=1, concurrency=1, breaker=CircuitBreaker(min_runs=3)
)


class ShakyTable(MemoryTable):
    """A table that is away until a moment; the table is back without anybody being told."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away: Callable[[], bool] = lambda: False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        calls = {"get", "get_many", "query", "write", "transact", "insert_many", "update_many", "count"}
        if name in calls and super().__getattribute__("is_away")():
            raise StoreUnavailableError("no answer")
        return found


@pytest.fixture
def table() -> ShakyTable:
    return ShakyTable()


@pytest.fixture
def world(table: ShakyTable) -> World:
    world = World(table)
    world.deploy(GUARDED)
    return world


def working_for(
    world: World, table: ShakyTable, outage: timedelta, then: str | BaseException = "done"
) -> Callable[[object], str]:
    """A handler that works for half a minute, with an outage at its end."""

    def work(_context: object) -> str:
        world.clock.advance(HALF_A_MINUTE)
        back_at = world.clock.now() + outage
        table.is_away = lambda: world.clock.now() < back_at
        if isinstance(then, BaseException):
            raise then
        return then

    return work


@pytest.mark.parametrize("seconds", [3, 30])
def test_a_job_whose_table_is_away_when_its_handler_is_done_completes_once(
    world: World, table: ShakyTable, seconds: int
) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(working_for(world, table, timedelta(seconds=seconds)))

    assert world.work() == ["completed"]

    job = world.job(job_id)
    assert (job.status, job.attempts, [str(run.outcome) for run in job.runs]) == ("completed", 1, ["COMPLETED"])
    assert world.work() == []


def test_a_failure_during_an_outage_is_a_dead_letter_with_its_own_reason(world: World, table: ShakyTable) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(working_for(world, table, HALF_A_MINUTE, NonRetryableError("broken")))

    assert world.work() == ["dead_letter"]

    assert world.operator.dead_letter(job_id).error_code == "non_retryable"


def test_looking_whether_a_cancel_was_requested_survives_a_blip_and_sees_it_later(
    world: World, table: ShakyTable
) -> None:
    job_id = world.queue.enqueue("report").job_id
    seen: list[bool] = []

    def look(context: JobContext) -> None:
        table.is_away = lambda: True
        seen.append(context.cancel_requested)
        table.is_away = lambda: False
        world.queue.cancel(job_id, reason="not needed")
        world.clock.advance(timedelta(seconds=6))
        seen.append(context.cancel_requested)

    world.script.then(look)

    assert world.work() == ["completed"]
    assert seen == [False, True]


def test_what_was_last_read_stands_while_the_table_is_away_and_no_longer(world: World, table: ShakyTable) -> None:
    deployment = world.services.deployment
    deployment.registry(), deployment.switches(), circuit_of_type("report", world.services)
    world.clock.advance(timedelta(hours=1))
    table.is_away = lambda: True

    assert deployment.settings_of("report").concurrency == 1
    assert deployment.switches().halt is None
    assert circuit_of_type("report", world.services) is None
    with pytest.raises(StoreUnavailableError):
        deployment.switches(fresh=True)

    table.is_away = lambda: False
    world.operator.halt(reason="bad deploy")
    assert deployment.switches().halt is not None


def test_the_type_s_settings_are_asked_for_anew_after_the_outage(world: World, table: ShakyTable) -> None:
    world.services.deployment.registry()
    world.clock.advance(timedelta(minutes=1))
    table.is_away = lambda: True
    assert "newcomer" not in world.services.deployment.registry().types
    table.is_away = lambda: False

    world.deploy(GUARDED, JobType(name="newcomer"))

    assert "newcomer" in world.services.deployment.registry().types
    assert world.status(world.queue.enqueue("newcomer").job_id) is JobStatus.PENDING
