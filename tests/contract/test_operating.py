"""What people and programs may do to a job that exists: look, retry, reschedule, edit, wait."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus, NonRetryableError, Priority, Registry, trace_context
from leasehold.kernel.errors import InvalidJobIdError, JobNotFoundError, WrongStateError
from leasehold.kernel.keys import JobPartition, make_job_id, partition_of
from leasehold.operate.dead_letters import DeadLetters
from leasehold.operate.verbs import WaitTimeoutError

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId
    from tests.contract.world import World


def test_a_retry_of_a_dead_job_resolves_its_dead_letter_so_that_it_is_run_again_once(world: World) -> None:
    world.script.then(RuntimeError("boom"))
    job_id = world.queue.enqueue("once").job_id
    assert world.work() == ["dead_letter"]

    again = world.queue.retry(job_id, priority=Priority.HIGH)

    assert world.operator.dead_letter(job_id).redriven_as == again.job_id
    assert world.operator.redrive(job_id, reason="too late").job_id == again.job_id
    assert (world.job(again.job_id).retry_of, world.job(again.job_id).priority) == (job_id, Priority.HIGH)
    assert world.work() == ["completed"]


def test_a_retry_of_a_dead_job_that_somebody_else_retries_in_the_same_moment_is_told_of_their_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.script.then(RuntimeError("boom"))
    job_id = world.queue.enqueue("once").job_id
    world.work()
    read = DeadLetters.get
    theirs: list[Any] = []

    def read_and_be_overtaken(dead_letters: DeadLetters, wanted: JobId) -> DeadLetter | None:
        dead_letter = read(dead_letters, wanted)
        if not theirs:
            theirs.append(None)
            theirs[0] = world.queue.retry(job_id, reason="theirs")
        return dead_letter

    monkeypatch.setattr(DeadLetters, "get", read_and_be_overtaken)
    ours = world.queue.retry(job_id, reason="ours")

    assert (theirs[0].created, ours.created) == (True, False)
    assert ours.job_id == theirs[0].job_id
    assert [record.audit_entry.reason for record in world.services.store.audits.trail(f"dead-letter#{job_id}")] == [
        "theirs"
    ]


def test_a_retry_of_a_waiting_job_takes_a_priority_too(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id

    world.queue.retry(job_id, priority=Priority.CRITICAL)

    job = world.job(job_id)
    assert (job.priority, job.due_lane, job.due_at) == (Priority.CRITICAL, "3#0", world.clock.now())


def test_a_job_is_found_by_its_id_with_all_that_was_asked_for(world: World) -> None:
    now = world.clock.now()
    first = world.queue.enqueue("report").job_id
    job_id = world.queue.enqueue(
        "report",
        {"n": 3},
        run_in=timedelta(hours=1),
        start_by=now + timedelta(hours=2),
        priority=Priority.HIGH,
        max_attempts=9,
        created_by="ada",
        retry_of=first,
        concurrency_key="tenant-1",
        trace="00-abc",
    ).job_id

    job = world.job(job_id)

    assert (job.job_id, job.job_type, job.payload, job.status) == (job_id, "report", {"n": 3}, JobStatus.PENDING)
    assert (job.scheduled_for, job.due_at, job.created_at) == (now + timedelta(hours=1), now + timedelta(hours=1), now)
    assert (job.priority, job.max_attempts, job.created_by) == (Priority.HIGH, 9, "ada")
    assert (job.retry_of, job.concurrency_key, job.trace) == (first, "tenant-1", "00-abc")
    assert (job.start_by, job.attempts, job.wake) == (now + timedelta(hours=2), 0, False)


def test_an_id_that_nobody_made_and_a_job_that_is_not_there_are_told_apart(world: World) -> None:
    with pytest.raises(InvalidJobIdError):
        world.queue.get("6f1a1f60-0000-4000-8000-000000000000")
    with pytest.raises(JobNotFoundError):
        world.queue.get(make_job_id(world.clock.now(), JobPartition(1), 7))


def test_jobs_run_by_priority_and_then_in_the_order_of_their_time(world: World) -> None:
    wanted = {}
    for name, priority in (("low", Priority.LOW), ("a", None), ("urgent", Priority.CRITICAL), ("b", None)):
        wanted[world.queue.enqueue("report", priority=priority).job_id] = name
        world.clock.advance(timedelta(milliseconds=1))

    assert [wanted[each.job_id] for each in world.claim()] == ["urgent", "a", "b", "low"]


def test_the_trace_of_the_enqueuer_reaches_the_handler(world: World) -> None:
    seen: list[str | None] = []

    def work(context: JobContext) -> None:
        seen.append(context.trace)
        world.queue.enqueue("email")

    world.script.then(work)
    with trace_context("00-abc"):
        world.queue.enqueue("report")
    world.work()

    assert seen == ["00-abc"]
    (follow,) = world.claim()
    assert world.job(follow.job_id).trace == "00-abc"


def test_a_retry_of_a_waiting_job_runs_it_now(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id

    again = world.queue.retry(job_id)

    assert (again.job_id, again.created) == (job_id, False)
    assert world.work() == ["completed"]


def test_a_retry_of_an_ended_job_is_a_new_job(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": 2}, max_attempts=7).job_id
    world.script.then(NonRetryableError("broken"))
    world.work()

    again = world.queue.retry(job_id, priority=Priority.HIGH)

    assert again.created
    job = world.job(again.job_id)
    assert (job.retry_of, job.payload, job.max_attempts, job.created_by) == (job_id, {"n": 2}, 7, "ada")
    assert (job.priority, job.attempts) == (Priority.HIGH, 0)
    assert world.status(job_id) is JobStatus.DEAD_LETTER


def test_a_running_job_is_not_retried_rescheduled_or_edited(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.claim()
    before = world.job(job_id)

    with pytest.raises(WrongStateError):
        world.queue.retry(job_id)
    with pytest.raises(WrongStateError):
        world.queue.reschedule(job_id, run_in=timedelta(hours=1))
    with pytest.raises(WrongStateError):
        world.queue.edit(job_id, payload={"n": 5})

    assert world.job(job_id) == before


def test_a_rescheduled_job_runs_at_its_new_time_under_its_old_id(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    scheduled_for = world.job(job_id).scheduled_for

    job = world.queue.reschedule(job_id, run_in=timedelta(hours=1))

    assert (job.due_at, job.scheduled_for) == (world.clock.now() + timedelta(hours=1), scheduled_for)
    assert world.work() == []
    world.clock.advance(timedelta(hours=1))
    assert world.work() == ["completed"]


def test_a_job_that_is_moved_away_and_back_does_not_get_its_old_due_key_again(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    before = world.job(job_id)
    world.clock.advance(timedelta(seconds=1))

    world.queue.reschedule(job_id, run_in=timedelta(hours=2))
    after = world.queue.reschedule(job_id, run_at=before.due_at)

    assert after.due_at == before.due_at
    assert after.due != before.due


def test_a_waiting_job_is_edited(world: World) -> None:
    low = world.queue.enqueue("report", {"n": 1}).job_id
    world.clock.advance(timedelta(milliseconds=1))
    job_id = world.queue.enqueue("report", {"n": 1}).job_id

    job = world.queue.edit(job_id, payload={"n": 2}, priority=Priority.CRITICAL, max_attempts=2)

    assert (job.payload, job.priority, job.max_attempts) == ({"n": 2}, Priority.CRITICAL, 2)
    assert job == world.job(job_id)
    assert [each.job_id for each in world.claim()] == [job_id, low]


def test_a_job_that_waits_for_its_retry_can_be_edited(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": 1}).job_id
    world.script.then(RuntimeError())
    world.work()

    job = world.queue.edit(job_id, max_attempts=1, payload={"n": 2})

    assert (job.status, job.max_attempts, job.payload) == (JobStatus.FAILED, 1, {"n": 2})


def test_waiting_for_an_ended_job_returns_it_and_for_another_gives_up_in_time(world: World) -> None:
    ended = world.queue.enqueue("report").job_id
    world.work()
    started_at = world.clock.now()
    waiting = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id

    assert world.queue.wait(ended).status is JobStatus.COMPLETED
    assert world.clock.now() == started_at
    with pytest.raises(WaitTimeoutError, match="still pending"):
        world.queue.wait(waiting, timeout=timedelta(seconds=10))
    assert world.clock.now() == started_at + timedelta(seconds=10)


def test_the_depth_of_the_queue_counts_due_and_held_jobs_and_no_others(world: World) -> None:
    world.queue.enqueue("email")
    world.operator.pause("email", reason="provider is down")
    world.poll()
    oldest = world.clock.now()
    for _ in range(2):
        world.queue.enqueue("report")
        world.clock.advance(timedelta(minutes=1))
    world.queue.enqueue("report", run_in=timedelta(hours=1))

    backlog = world.operator.backlog()

    assert dict(backlog.depth) == {"email": 1, "report": 2}
    assert backlog.oldest["report"] == oldest
    world.claim()
    assert dict(world.operator.backlog().depth) == {"email": 1}


def test_a_deployment_with_fewer_shards_keeps_those_that_there_were_and_their_jobs_run(world: World) -> None:
    world.operator.publish(Registry(types=world.types, shards=3))
    jobs = [world.queue.enqueue("report").job_id for _ in range(30)]

    world.operator.publish(Registry(types=world.types, shards=1))

    assert world.services.deployment.registry().shards == 3
    assert {partition_of(job_id).shard for job_id in jobs} == {0, 1, 2}
    assert world.work() == ["completed"] * 30
