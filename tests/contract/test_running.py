"""From enqueue to an end: what a handler returns or raises, and what becomes of its job."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, NonRetryableError, Outcome, Skip, Snooze
from leasehold.kernel import partitions
from leasehold.runtime.handler import InvalidJobPayloadError
from leasehold.telemetry import COMPLETED, LEASES_LOST, Event
from tests.contract.world import RETRY_DELAY

if TYPE_CHECKING:
    from leasehold import JobContext
    from tests.contract.world import World


def test_a_job_runs_and_ends_as_completed_with_its_result(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": 1}).job_id
    world.script.then({"pages": 3})

    assert world.work() == ["completed"]

    job = world.job(job_id)
    assert (job.status, job.result, job.attempts) == (JobStatus.COMPLETED, {"pages": 3}, 1)
    assert (job.due, job.locked_by, job.lock_expires_at, job.wake) == (None, None, None, False)
    assert job.completed_at == world.clock.now()
    assert [(run.run_id(job_id), run.outcome) for run in job.runs] == [(f"{job_id}.1", Outcome.COMPLETED)]
    assert world.recorder.total(COMPLETED, job_type="report", status="success") == 1


def test_an_ended_job_is_listed_by_its_end_and_goes_after_its_retention(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.work()

    ended = world.store.listings.ended(JobStatus.COMPLETED, "report", limit=5)
    assert ended == [job_id]
    assert world.job(job_id).expires_at == int((world.clock.now() + timedelta(days=7)).timestamp())


def test_a_job_scheduled_for_later_runs_then_and_not_before(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id

    world.clock.advance(timedelta(minutes=59))
    assert world.work() == []
    world.clock.advance(timedelta(minutes=1))
    assert world.work() == ["completed"]

    assert world.status(job_id) is JobStatus.COMPLETED


def test_a_failed_run_is_tried_again_after_its_delay_and_every_run_is_kept(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(RuntimeError("first"), "done")

    assert world.work() == ["failed"]
    waiting = world.job(job_id)
    assert (waiting.status, waiting.last_error_code) == (JobStatus.FAILED, "RuntimeError")
    assert waiting.due_at == world.clock.now() + RETRY_DELAY
    assert waiting.last_error is not None
    assert "first" in waiting.last_error
    assert (waiting.locked_by, waiting.started_at) == (None, None)
    assert world.work() == []

    world.clock.advance(RETRY_DELAY)
    assert world.work() == ["completed"]

    job = world.job(job_id)
    assert (job.status, job.attempts, job.result) == (JobStatus.COMPLETED, 2, "done")
    assert [(run.run_id(job_id), run.outcome) for run in job.runs] == [
        (f"{job_id}.1", Outcome.FAILED),
        (f"{job_id}.2", Outcome.COMPLETED),
    ]
    assert world.script.seen == [(job_id, 1), (job_id, 2)]


def test_a_job_whose_last_attempt_fails_becomes_a_dead_letter_with_its_runs(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": 7}).job_id
    world.script.then(*[RuntimeError(f"boom {n}") for n in (1, 2, 3)])

    job = world.work_until_ended(job_id)

    assert (job.status, job.attempts, job.due, job.expires_at) == (JobStatus.DEAD_LETTER, 3, None, None)
    record = world.table.get(partitions.dead_letter(job.job_id))
    assert record is not None
    assert {"id", "original_job_id", "job_type", "payload", "failure_reason", "failed_at", "attempts"} <= set(record)
    dead_letter = world.operator.dead_letter(job_id)
    assert (dead_letter.id, dead_letter.original_job_id, dead_letter.job_type) == (job_id, job_id, "report")
    assert (dead_letter.payload, dead_letter.failed_at, dead_letter.attempts) == ({"n": 7}, world.clock.now(), 3)
    assert (dead_letter.error_code, dead_letter.runs, dead_letter.is_open) == ("RuntimeError", job.runs, True)
    assert "boom 3" in dead_letter.failure_reason
    assert [run.outcome for run in dead_letter.runs] == [Outcome.FAILED] * 3
    (told,) = world.recorder.of(Event.JOB_DEAD_LETTERED)
    assert (told["job_id"], told["job_type"], told["attempt_count"]) == (job_id, "report", 3)


def test_a_snooze_gives_the_attempt_back_and_leaves_no_run(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    world.script.then(Snooze(90), Snooze(90), "done")

    assert world.work() == ["snoozed"]
    waiting = world.job(job_id)
    assert (waiting.status, waiting.attempts, waiting.runs) == (JobStatus.PENDING, 0, ())
    assert waiting.due_at == world.clock.now() + timedelta(seconds=90)
    for expected in ("snoozed", "completed"):
        assert world.work() == []
        world.clock.advance(timedelta(seconds=90))
        assert world.work() == [expected]

    job = world.job(job_id)
    assert (job.status, job.attempts, len(job.runs)) == (JobStatus.COMPLETED, 1, 1)


def test_a_skip_completes_the_job_with_a_skipped_run(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(Skip("nothing to send"))

    assert world.work() == ["skipped"]

    job = world.job(job_id)
    assert (job.status, job.runs[0].outcome, job.runs[0].reason) == (
        JobStatus.COMPLETED,
        Outcome.SKIPPED,
        "nothing to send",
    )


def test_a_handler_can_cancel_its_own_job(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(Cancel("the order is gone"))

    assert world.work() == ["cancelled"]

    assert (world.job(job_id).status, world.job(job_id).cancel_reason) == (JobStatus.CANCELLED, "the order is gone")


def test_an_error_that_cannot_be_retried_dead_letters_at_once(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(NonRetryableError("no such customer"))

    assert world.work() == ["dead_letter"]

    assert (world.status(job_id), world.job(job_id).attempts) == (JobStatus.DEAD_LETTER, 1)
    assert world.operator.dead_letter(job_id).error_code == "non_retryable"


def test_a_payload_that_does_not_fit_dead_letters_at_once_without_a_call(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": "many"}).job_id

    assert world.work() == ["dead_letter"]

    assert (world.status(job_id), world.job(job_id).last_error_code) == (
        JobStatus.DEAD_LETTER,
        InvalidJobPayloadError.code,
    )
    assert world.script.seen == []


def test_artifacts_of_a_run_are_kept_on_the_run(world: World) -> None:
    def work(context: JobContext) -> str:
        context.add_artifact("s3://reports/1.pdf")
        return "done"

    job_id = world.queue.enqueue("report").job_id
    world.script.then(work)
    world.work()

    job = world.job(job_id)
    assert (job.artifacts, job.runs[0].artifacts) == (("s3://reports/1.pdf",), ("s3://reports/1.pdf",))


def test_two_copies_of_one_hand_over_run_once(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    handover = world.claim_one()

    results: list[str] = []
    world.script.then(lambda _: results.append(str(world.worker.run(handover))))
    first = world.worker.run(handover)
    third = world.worker.run(handover)

    assert (first, results, third) == ("completed", ["not_started"], "not_started")
    assert world.script.seen == [(job_id, 1)]
    assert world.recorder.total(LEASES_LOST, job_type="report") == 2


@pytest.mark.parametrize("job_type", ["report", "limited"])
@pytest.mark.parametrize("count", [1, 10])
def test_whoever_claims_a_job_knows_which_attempt_it_is_for(world: World, job_type: str, count: int) -> None:
    """Alone, in batches and in transactions; after a failure, a snooze, a lost hand-over and an operator's move."""
    made = [world.queue.enqueue(job_type).job_id for _ in range(count)]
    first, *_ = made
    world.script.then(*([ConnectionError("no")] * count), *([Snooze(timedelta(minutes=2))] * count))

    world.claim()  # these hand-overs are lost
    for _ in range(7):
        world.clock.advance(timedelta(minutes=20))
        while world.work():
            pass
        if world.job(first).status.is_waiting:
            world.queue.reschedule(first)

    seen = [(str(each["job_id"]), each["attempt"]) for each in world.recorder.of(Event.JOB_CLAIMED)]
    assert set(seen) == set(world.script.seen)
    assert len(seen) > len(world.script.seen)
    assert {1, 2} <= {attempt for _, attempt in world.script.seen}
    assert {world.status(job_id) for job_id in made} == {JobStatus.COMPLETED}
