"""Limits: by key, by resource, for everything, by rate; what happens when one is full; in order, in nobody's way."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, Priority, Registry
from leasehold.kernel.job import Outcome
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.type_options import OnFull
from leasehold.limits.model import Limit, Rate
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.contract.world import World

MINUTE = timedelta(minutes=1)


def deploy(world: World, *types: JobType, concurrency: int | None = None, **resources: int) -> None:
    world.operator.publish(
        Registry(types={each.name: each for each in types}, concurrency=concurrency, resources=resources)
    )


def enqueue(world: World, job_type: str, count: int, **options: object) -> list[str]:
    """Enqueue jobs a millisecond apart, so that their order is known."""
    made: list[str] = []
    for _ in range(count):
        made.append(world.queue.enqueue(job_type, **options).job_id)  # type: ignore[arg-type]
        world.clock.advance(timedelta(milliseconds=1))
    return made


def ids(handovers: list[Handover]) -> list[str]:
    return [handover.job_id for handover in handovers]


def test_a_key_has_its_own_limit_and_its_jobs_run_in_order(world: World) -> None:
    deploy(world, JobType(name="email", concurrency_per_key=1))
    ada, bob = (enqueue(world, "email", 3, concurrency_key=key) for key in ("ada", "bob"))
    free = enqueue(world, "email", 2)

    first = world.claim()

    assert set(ids(first)) == {ada[0], bob[0], *free}
    assert world.claim() == []
    for expected in zip(ada[1:], bob[1:], strict=True):
        for handover in first:
            world.worker.run(handover)
        first = world.claim()
        assert set(ids(first)) == set(expected)


def test_a_shared_resource_is_shared_between_types(world: World) -> None:
    deploy(world, JobType(name="report", resources=("gpu",)), JobType(name="email", resources=("gpu",)), gpu=2)
    jobs = [*enqueue(world, "report", 2), *enqueue(world, "email", 2)]

    first = world.claim()

    assert ids(first) == jobs[:2]
    world.worker.run(first[0])
    assert ids(world.claim()) == jobs[2:3]


def test_everything_together_has_a_limit_that_respects_priority(world: World) -> None:
    deploy(world, JobType(name="report"), JobType(name="email"), concurrency=1)
    low = enqueue(world, "report", 2, priority=Priority.LOW)
    first = world.claim()
    assert ids(first) == low[:1]
    high = enqueue(world, "email", 1, priority=Priority.CRITICAL)
    world.poll()

    world.worker.run(first[0])

    # The share of the lowest is drawn by chance: without it the highest waits for nobody.
    strict = Poller(world.services, world.dispatches, worker_id="strict", settings=PollSettings(lower_share=0.0))
    strict.poll()
    assert ids(world.dispatches.handovers) == high


def test_a_share_of_admissions_goes_to_the_lowest_priority(world: World) -> None:
    deploy(world, JobType(name="report"), concurrency=1)
    first = enqueue(world, "report", 1)
    running = world.claim()
    low = enqueue(world, "report", 1, priority=Priority.LOW)
    enqueue(world, "report", 1, priority=Priority.CRITICAL)
    world.poll()
    assert ids(running) == first

    world.worker.run(running[0])
    Poller(world.services, world.dispatches, worker_id="kind", settings=PollSettings(lower_share=1.0)).poll()

    assert ids(world.dispatches.handovers) == low


def test_a_rate_lets_no_window_of_its_length_see_more_starts(world: World) -> None:
    deploy(world, JobType(name="email", rate=Rate(3, MINUTE)))
    jobs = enqueue(world, "email", 8)
    begun = world.clock.now()

    assert ids(world.claim()) == jobs[:3]
    world.clock.advance(MINUTE / 2)
    assert world.claim() == []
    for handover_count, expected in ((3, jobs[3:6]), (2, jobs[6:])):
        world.clock.advance(MINUTE)
        claimed = world.claim()
        assert ids(claimed) == expected
        assert len(claimed) == handover_count
    assert world.clock.now() - begun == MINUTE * 2.5


def test_what_waits_for_its_rate_is_due_exactly_when_the_rate_allows_it(world: World) -> None:
    deploy(world, JobType(name="email", rate_per_key=Rate(1, timedelta(seconds=20))))
    first, second = enqueue(world, "email", 2, concurrency_key="ada")
    assert ids(world.claim()) == [first]
    started = world.clock.now()

    world.clock.move_to(started + timedelta(seconds=20) - timedelta(milliseconds=1))
    assert world.claim() == []
    world.clock.move_to(started + timedelta(seconds=20))

    assert ids(world.claim()) == [second]


def test_an_end_gives_back_no_start_to_a_rate(world: World) -> None:
    deploy(world, JobType(name="once", rate=Rate(1, MINUTE)))
    enqueue(world, "once", 2)
    assert world.work() == ["completed"]
    assert world.work() == []
    world.clock.advance(MINUTE)
    assert world.work() == ["completed"]


def test_a_full_type_that_skips_completes_new_jobs_without_running_them(world: World) -> None:
    deploy(world, JobType(name="report", concurrency=1, on_full=OnFull.SKIP))
    first, second = enqueue(world, "report", 2)

    report = world.poll()

    assert (report.claimed, report.turned_away, report.held) == (1, 1, 0)
    job = world.job(second)
    assert job.status is JobStatus.COMPLETED
    assert [(run.outcome, run.reason) for run in job.runs] == [(Outcome.SKIPPED, "at its concurrency limit")]
    assert job.attempts == 0
    assert job.expires_at is not None
    assert world.status(first) is JobStatus.IN_PROGRESS


def test_a_full_type_that_cancels_new_ones_says_why(world: World) -> None:
    deploy(world, JobType(name="report", rate_per_key=Rate(1, MINUTE), on_full=OnFull.CANCEL_NEW))
    _, second = enqueue(world, "report", 2, concurrency_key="ada")
    other = world.queue.enqueue("report", concurrency_key="bob").job_id

    assert len(world.claim()) == 2

    assert (world.status(second), world.job(second).cancel_reason) == (JobStatus.CANCELLED, "at its rate limit")
    (cancelled,) = world.recorder.of(Event.JOB_CANCELLED)
    assert (cancelled["job_id"], cancelled["reason"]) == (second, "at its rate limit")
    assert world.status(other) is JobStatus.IN_PROGRESS


def test_a_job_that_has_run_before_is_not_turned_away(world: World) -> None:
    deploy(world, JobType(name="report", concurrency=1, on_full=OnFull.CANCEL_NEW, max_attempts=3))
    world.script.then(RuntimeError("boom"))
    failing = world.queue.enqueue("report").job_id
    assert world.work() == ["failed"]
    retry_at = world.job(failing).due_at
    assert retry_at is not None
    world.clock.move_to(retry_at - timedelta(milliseconds=1))
    blocker = world.queue.enqueue("report").job_id
    (handover,) = world.claim()
    assert handover.job_id == blocker

    world.clock.move_to(retry_at)
    report = world.poll()

    assert (report.turned_away, report.held) == (0, 1)
    world.worker.run(handover)
    assert ids(world.claim()) == [failing]


def test_a_shared_limit_is_waited_for_even_by_types_that_skip(world: World) -> None:
    deploy(world, JobType(name="report", on_full=OnFull.SKIP), concurrency=1)
    enqueue(world, "report", 2)

    report = world.poll()

    assert (report.claimed, report.turned_away, report.held) == (1, 0, 1)


def test_a_job_that_waits_for_its_key_does_not_keep_the_seat_of_its_type(world: World) -> None:
    deploy(world, JobType(name="email", concurrency=2, concurrency_per_key=1))
    ada = enqueue(world, "email", 3, concurrency_key="ada")
    bob = enqueue(world, "email", 1, concurrency_key="bob")

    assert ids(world.claim()) == [ada[0], bob[0]]


def test_jobs_that_two_limits_hold_back_all_run_in_order_of_their_key(world: World) -> None:
    deploy(world, JobType(name="email", concurrency=2, concurrency_per_key=1))
    by_key = {key: enqueue(world, "email", 4, concurrency_key=key) for key in ("ada", "bob", "cy")}
    order: list[str] = []
    for _ in range(40):
        claimed = world.claim()
        order += ids(claimed)
        assert len(claimed) <= 2
        for handover in claimed:
            assert world.worker.run(handover) == "completed"
        world.clock.advance(timedelta(seconds=1))
    assert len(order) == 12
    for jobs in by_key.values():
        assert [job_id for job_id in order if job_id in jobs] == jobs


def test_a_paused_type_whose_jobs_wait_for_their_key_stays_paused_and_comes_back(world: World) -> None:
    deploy(world, JobType(name="email", concurrency_per_key=1))
    jobs = enqueue(world, "email", 3, concurrency_key="ada")
    (running,) = world.claim()
    world.operator.pause("email", reason="provider is down")
    world.clock.advance(MINUTE)
    world.store.lines.free("key:email:ada", 0, running.token)
    world.clock.advance(MINUTE)

    assert world.claim() == []

    world.operator.unpause("email")
    assert ids(world.claim()) == [jobs[1]]


def test_a_seat_of_a_crashed_worker_is_free_after_its_lease_and_not_before(world: World) -> None:
    lease = JobType(name="email", concurrency_per_key=1).full_lease
    deploy(world, JobType(name="email", concurrency_per_key=1))
    first, second = enqueue(world, "email", 2, concurrency_key="ada")
    (lost,) = world.claim()
    assert lost.job_id == first
    taken_at = world.clock.now()

    world.clock.move_to(taken_at + lease - timedelta(milliseconds=1))
    assert world.claim() == []
    world.clock.move_to(taken_at + lease)
    claimed = world.claim()

    # The orphan itself backs off, so the next in line gets the seat.
    assert ids(claimed) == [second]


def test_a_policy_of_one_s_own_decides_which_limits_count(world: World) -> None:
    class OneAtATime:
        def limits_of(self, job_type: JobType, concurrency_key: str | None, registry: Registry) -> tuple[Limit, ...]:
            return (Limit(scope="resource:laptop", seats=1, is_own=False),)

    deploy(world, JobType(name="report"), JobType(name="email"))
    enqueue(world, "report", 1)
    enqueue(world, "email", 1)

    poller = Poller(world.services, world.dispatches, worker_id="own", policy=OneAtATime())

    assert poller.poll().claimed == 1
    assert poller.poll().claimed == 0
    world.worker.run(world.dispatches.handovers[0])
    assert poller.poll().claimed == 1


@pytest.mark.parametrize("priority", [Priority.LOW, Priority.CRITICAL])
def test_a_held_job_that_gets_another_priority_moves_to_its_lane(world: World, priority: Priority) -> None:
    deploy(world, JobType(name="report", concurrency=1))
    first, second, third = enqueue(world, "report", 3)
    (running,) = world.claim()
    assert running.job_id == first

    world.queue.edit(third, priority=priority)
    world.worker.run(running)
    Poller(world.services, world.dispatches, worker_id="strict", settings=PollSettings(lower_share=0.0)).poll()

    assert ids(world.dispatches.handovers) == [third if priority is Priority.CRITICAL else second]


def test_the_backlog_counts_what_waits_for_any_limit(world: World) -> None:
    deploy(world, JobType(name="email", concurrency_per_key=1), JobType(name="report"))
    enqueue(world, "email", 3, concurrency_key="ada")
    enqueue(world, "report", 1)
    world.operator.pause("report", reason="later")
    world.poll()

    depth = world.operator.backlog().depth

    assert (depth["email"], depth["report"]) == (2, 1)
