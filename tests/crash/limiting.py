"""Scenarios of limits: seats in several scopes, rates, and jobs that are turned away when one is full."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus
from tests.crash.faults import INVOKE
from tests.crash.polling import poll
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_MINUTE = timedelta(minutes=1)
_PAST_EVERY_LEASE = timedelta(minutes=5)


def _two(job_type: str) -> Callable[[World], list[str]]:
    def prepare(world: World) -> list[str]:
        return [world.enqueue(job_type=job_type, concurrency_key="ada") for _ in range(2)]

    return prepare


def _second_waits(job_type: str) -> Callable[[World], list[str]]:
    """The first has its seats, the second is held; then the first ends."""

    def prepare(world: World) -> list[str]:
        jobs = _two(job_type)(world)
        world.run(world.claim())
        return jobs

    return prepare


def _full(job_type: str) -> Callable[[World], str]:
    """One runs, and a new one is due."""

    def prepare(world: World) -> str:
        world.enqueue(job_type=job_type)
        world.claim()
        return world.enqueue(job_type=job_type)

    return prepare


def _run_the_last(process: Process, _prepared: object) -> object:
    return process.worker.run(process.world.handovers[-1])


def _rate_allows_the_second(world: World) -> list[str]:
    jobs = _second_waits("rated")(world)
    world.clock.advance(_MINUTE)
    return jobs


def _lost_with_seats(world: World) -> list[str]:
    """A worker dies with two seats, while another job waits for them."""
    jobs = _two("double")(world)
    world.claim()
    world.clock.advance(_PAST_EVERY_LEASE)
    return jobs


def _claimed_with_two_seats(world: World) -> list[str]:
    jobs = _two("double")(world)
    world.claim()
    return jobs


def _both_completed(world: World, end: Snapshot, jobs: list[str]) -> None:
    assert [end.jobs[job_id].status for job_id in jobs] == [JobStatus.COMPLETED] * 2
    _every_seat_can_be_had(world)


def _every_seat_can_be_had(world: World) -> None:
    """A seat that stayed taken for ever would let one of these wait for ever."""
    world.clock.advance(_PAST_EVERY_LEASE)
    for job_type in ("keyed", "double", "rated"):
        world.enqueue(job_type=job_type, concurrency_key="ada")
    recover(world)


def _turned_away(status: JobStatus, outcomes: list[Outcome]) -> Callable[[World, Snapshot, str], None]:
    def check(world: World, end: Snapshot, job_id: str) -> None:
        job = end.jobs[job_id]
        # The crash may have taken so long that the first one's lease was over: then there was room.
        if job.attempts == 0:
            assert (job.status, [run.outcome for run in job.runs]) == (status, outcomes)

    return check


SCENARIOS = (
    Scenario(
        name="poll at a key's limit",
        prepare=_two("keyed"),
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem", "UpdateItem"),
        check=_both_completed,
    ),
    Scenario(
        name="poll at a rate",
        prepare=_two("rated"),
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem", "UpdateItem"),
        check=_both_completed,
    ),
    Scenario(
        name="take seats in two scopes",
        prepare=_two("double"),
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem", "UpdateItem"),
        check=_both_completed,
    ),
    Scenario(
        name="give back seats in two scopes",
        prepare=_claimed_with_two_seats,
        act=_run_the_last,
        calls=("UpdateItem",) * 5,
        check=_both_completed,
    ),
    Scenario(
        name="admit what waited for its key",
        prepare=_second_waits("keyed"),
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem"),
        check=_both_completed,
    ),
    Scenario(
        name="admit what waited for its rate",
        prepare=_rate_allows_the_second,
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem"),
        check=_both_completed,
    ),
    Scenario(
        name="take over the seats of a lost worker",
        prepare=_lost_with_seats,
        act=poll,
        calls=("UpdateItem", "UpdateItem", "UpdateItem", "TransactWriteItems", INVOKE),
        check=_both_completed,
    ),
    Scenario(
        name="skip a job at a full limit",
        prepare=_full("skipping"),
        act=poll,
        calls=("UpdateItem",),
        check=_turned_away(JobStatus.COMPLETED, [Outcome.SKIPPED]),
    ),
    Scenario(
        name="turn a job away at a full limit",
        prepare=_full("refusing"),
        act=poll,
        calls=("UpdateItem",),
        check=_turned_away(JobStatus.CANCELLED, []),
    ),
)
