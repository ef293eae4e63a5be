"""What a job owes after its end: a follow-up job is made exactly once, whatever happens in between."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobStatus, JobType, NonRetryableError
from leasehold.engine.draft import JobRequest
from leasehold.engine.enqueue import enqueue
from leasehold.engine.settle import follow_up, settle
from leasehold.engine.telemetry import Event
from leasehold.store import keys
from leasehold.store.jobs import DueJob
from leasehold.store.table import Update
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from leasehold import Job
    from tests.contract.world import World


def enqueue_with_follow_up(world: World, job_type: str = "email", statuses: tuple[str, ...] = ()) -> str:
    effects = (follow_up(job_type, '{"n":2}', statuses=statuses),)
    return enqueue(JobRequest(job_type="report", payload_text="{}", effects=effects), world.parts).job_id


def owed(world: World, job: Job) -> DueJob:
    """The job's entry in the due index."""
    assert job.due_lane is not None
    (entry,) = world.store.jobs.due(job.due_lane, world.clock.now(), limit=5).entries
    assert isinstance(entry, DueJob)
    return entry


def test_a_follow_up_is_made_after_the_end_and_runs(world: World) -> None:
    job_id = enqueue_with_follow_up(world)
    assert world.work() == ["completed"]
    assert world.job(job_id).due_at == world.clock.now()

    report = world.poll()

    assert report.settled == 1
    assert world.job(job_id).due is None
    assert world.work() == ["completed"]
    (made,) = [each for each in world.recorder.of(Event.JOB_ENQUEUED) if each["job_type"] == "email"]
    follow = world.job(str(made["job_id"]))
    assert (follow.payload, follow.status) == ({"n": 2}, JobStatus.COMPLETED)
    assert world.poll().settled == 0


def test_a_follow_up_that_was_made_before_a_crash_is_not_made_again(world: World) -> None:
    job_id = enqueue_with_follow_up(world)
    world.work()
    entry, before = owed(world, world.job(job_id)), world.job(job_id)

    assert settle(entry, world.parts)
    # As if the poller had died before it took the job out of the index: the same effects are done once more.
    world.table.write(
        Update(
            key=keys.job(before.job_id),
            conditions=(),
            sets={"due_lane": str(before.due_lane), "due_key": entry.due_key},
        )
    )
    assert settle(entry, world.parts)

    assert world.work() == ["completed"]
    assert world.work() == []


def test_effects_that_were_settled_are_not_settled_again(world: World) -> None:
    job_id = enqueue_with_follow_up(world)
    world.work()
    entry = owed(world, world.job(job_id))

    assert [settle(entry, world.parts), settle(entry, world.parts)] == [True, False]


def test_a_follow_up_of_one_end_is_not_made_after_another(world: World) -> None:
    job_id = enqueue_with_follow_up(world, statuses=("completed",))
    world.script.then(NonRetryableError("broken"))

    assert world.work() == ["dead_letter"]

    assert world.job(job_id).due is None
    assert world.work() == []


def test_a_cancelled_job_owes_its_effects_too(world: World) -> None:
    job_id = enqueue_with_follow_up(world, statuses=("cancelled",))
    world.queue.cancel(job_id, reason="not needed")

    assert world.poll().settled == 1
    assert world.work() == ["completed"]


def test_a_follow_up_is_not_refused_while_the_system_is_halted(world: World) -> None:
    job_id = enqueue_with_follow_up(world)
    handover = world.claim_one()
    world.worker.run(handover)
    world.operator.halt(reason="bad deploy")

    assert settle(owed(world, world.job(job_id)), world.parts)

    assert world.job(job_id).due is None
    world.operator.resume()
    assert world.work() == ["completed"]


def test_an_effect_that_cannot_be_done_stays_owed_and_is_tried_again_later(world: World) -> None:
    job_id = enqueue_with_follow_up(world, "newcomer")
    world.work()

    world.poll()

    assert world.job(job_id).due_at == world.clock.now() + timedelta(minutes=1)
    assert len(world.recorder.of(Event.EFFECT_FAILED)) == 1
    world.deploy(*TYPES, JobType(name="newcomer"))
    world.clock.advance(timedelta(minutes=1))
    assert world.poll().settled == 1
    assert world.work() == ["completed"]
