"""Scenarios of the handler runtime: start, extend, and every way in which an attempt ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from tests.crash.polling import seats_can_be_had
from tests.crash.scenario import Scenario

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World


def _run(process: Process, handover: Handover) -> object:
    return process.worker.run(handover)


def claimed(mode: str, job_type: str = "work", **options: Any) -> Any:
    def prepare(world: World) -> Handover:
        world.enqueue(mode, job_type, **options)
        return world.claim()

    return prepare


def _claimed_while_another_waits(world: World) -> Handover:
    """One has the only seat, the other is held: the end of the first wakes the scope of the second."""
    for _ in range(2):
        world.enqueue(job_type="limited")
    return world.claim()


def _claimed_before_a_halt(world: World) -> Handover:
    handover: Handover = claimed("result")(world)
    world.elsewhere.operator.halt(reason="a test")
    return handover


def _resume(world: World) -> None:
    world.elsewhere.operator.resume()


def _ends_as(*statuses: JobStatus) -> Any:
    def check(_world: World, end: Snapshot, handover: Handover) -> None:
        assert end.jobs[handover.job_id].status in statuses

    return check


_COMPLETED = _ends_as(JobStatus.COMPLETED)

SCENARIOS = (
    Scenario(
        name="start and complete", prepare=claimed("result"), act=_run, calls=("UpdateItem",) * 2, check=_COMPLETED
    ),
    Scenario(
        name="complete a deduplicated job",
        prepare=claimed("result", dedup_key="k"),
        act=_run,
        calls=("UpdateItem",) * 3,
        check=_COMPLETED,
    ),
    Scenario(
        name="complete a job that has a seat",
        prepare=_claimed_while_another_waits,
        act=_run,
        calls=("UpdateItem",) * 4,
        check=seats_can_be_had,
    ),
    Scenario(
        name="extend",
        prepare=claimed("extend", "beating"),
        act=_run,
        calls=("UpdateItem",) * 3,
        check=_COMPLETED,
    ),
    Scenario(
        name="complete with the handler's own writes",
        prepare=claimed("transact"),
        act=_run,
        calls=("UpdateItem", "TransactWriteItems"),
        check=_COMPLETED,
    ),
    Scenario(
        name="fail, to be tried again",
        prepare=claimed("fail_once"),
        act=_run,
        calls=("UpdateItem",) * 2,
        check=_COMPLETED,
    ),
    Scenario(
        name="fail for the last time",
        prepare=claimed("fail", max_attempts=1, dedup_key="k"),
        act=_run,
        calls=("UpdateItem", "ExecuteTransaction"),
        check=_ends_as(JobStatus.DEAD_LETTER),
    ),
    Scenario(
        name="fail after a cancel was asked for",
        prepare=claimed("fail_after_cancel", dedup_key="k"),
        act=_run,
        calls=("UpdateItem",) * 3,
        check=_ends_as(JobStatus.CANCELLED),
    ),
    Scenario(name="snooze", prepare=claimed("snooze_once"), act=_run, calls=("UpdateItem",) * 2, check=_COMPLETED),
    Scenario(name="skip", prepare=claimed("skip"), act=_run, calls=("UpdateItem",) * 2, check=_COMPLETED),
    Scenario(
        name="cancel from inside",
        prepare=claimed("cancel"),
        act=_run,
        calls=("UpdateItem",) * 2,
        check=_ends_as(JobStatus.CANCELLED),
    ),
    Scenario(
        name="give a job back because of a halt",
        prepare=_claimed_before_a_halt,
        act=_run,
        lift=_resume,
        calls=("UpdateItem",),
        check=_COMPLETED,
    ),
)
