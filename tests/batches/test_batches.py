"""Batches: one invocation for several jobs, and each job's life its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold.batches.model import Batch
from leasehold.kernel.errors import NonRetryableError, StoreUnavailableError
from leasehold.kernel.execute import Attempt
from leasehold.kernel.job import Outcome
from leasehold.kernel.job_type import JobType
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime import signals
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.signals import Cancel, Skip, Snooze
from leasehold.runtime.worker import Worker
from leasehold.telemetry import Event
from leasehold.testing.queue import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.ports import Handover


class Number(BaseModel):
    number: int
    how: str = ""


CALLS: list[list[int]] = []


class Together(BaseJobHandler[Number]):
    def handle_batch(self, payloads, context):
        CALLS.append(sorted(payload.number for payload in payloads))
        assert [job.attempt for job in context.jobs]
        return [self.one(payload, job) for payload, job in zip(payloads, context.jobs, strict=True)]

    def one(self, payload: Number, job: Any) -> object:
        match payload.how:
            case "raise":
                return RuntimeError("boom")
            case "snooze":
                return Snooze(timedelta(minutes=5))
            case "cancel":
                return Cancel("no longer wanted")
            case "skip":
                return Skip("done already")
            case "give up":
                return NonRetryableError("never")
            case "unfit":
                return object()
            case "artifact":
                job.add_artifact("s3://there")
        return payload.number * 2


class Each(BaseJobHandler[Number]):
    def handle(self, payload: Number, context: Any) -> object:
        CALLS.append([payload.number])
        answer = Together().one(payload, context)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def queue(handler: type[BaseJobHandler] = Together, size: int = 10, **settings: Any) -> LeaseholdTest:
    wait = settings.pop("wait", timedelta(0))
    job_type = JobType(name="count", batch=Batch(size=size, wait=wait), **settings)
    return LeaseholdTest({"count": handler}, types=[job_type])


def enqueue(test: LeaseholdTest, *hows: str, **options: Any) -> list[str]:
    return [
        test.queue.enqueue("count", {"number": number, "how": how}, **options).job_id for number, how in enumerate(hows)
    ]


def by_number(test: LeaseholdTest) -> dict[int, Job]:
    return {job.payload["number"]: job for job in test.jobs("count")}  # type: ignore[index, call-overload, misc]


@pytest.mark.parametrize("handler", [Together, Each])
def test_due_jobs_of_a_type_share_invocations_and_keep_their_own_results(handler):
    test = queue(handler, size=4)
    enqueue(test, *[""] * 10)

    assert test.drain()["completed"] == 10
    assert sorted(map(len, CALLS)) == ([2, 4, 4] if handler is Together else [1] * 10)
    assert {number: job.result for number, job in by_number(test).items()} == {each: each * 2 for each in range(10)}
    assert {len(job.runs) for job in test.jobs()} == {1}
    assert len({job.runs[0].worker for job in test.jobs()}) == 10


@pytest.mark.parametrize("handler", [Together, Each])
def test_what_becomes_of_one_job_touches_no_other(handler):
    test = queue(handler)
    enqueue(test, "", "raise", "snooze", "cancel", "skip", "give up", "unfit", "artifact")

    drained = test.drain()

    jobs = by_number(test)
    assert {number: job.status for number, job in jobs.items()} == {
        0: JobStatus.COMPLETED,
        1: JobStatus.FAILED,
        2: JobStatus.PENDING,
        3: JobStatus.CANCELLED,
        4: JobStatus.COMPLETED,
        5: JobStatus.DEAD_LETTER,
        6: JobStatus.DEAD_LETTER,
        7: JobStatus.COMPLETED,
    }
    assert drained.total == 8
    assert jobs[1].last_error_code == "RuntimeError"
    assert (jobs[2].attempts, jobs[3].cancel_reason) == (0, "no longer wanted")
    assert (jobs[4].runs[0].outcome, jobs[7].artifacts) == (Outcome.SKIPPED, ("s3://there",))
    assert {dead_letter.original_job_id for dead_letter in test.operator.dead_letters()} == {
        jobs[5].job_id,
        jobs[6].job_id,
    }


def test_a_job_that_failed_runs_alone_from_then_on():
    test = queue(max_attempts=3)
    enqueue(test, "", "raise", "raise", "")

    for _ in range(3):  # all that failed falls due together
        test.drain()
        test.clock.advance(timedelta(hours=1))

    assert CALLS[0] == [0, 1, 2, 3]
    assert sorted(CALLS[1:]) == [[1]] * 2 + [[2]] * 2
    assert {job.status for job in test.jobs()} == {JobStatus.COMPLETED, JobStatus.DEAD_LETTER}


def test_what_handle_batch_itself_raises_fails_every_job_of_it_and_the_next_runs_are_alone():
    class Broken(Together):
        def handle_batch(self, payloads, context):
            CALLS.append(sorted(payload.number for payload in payloads))
            if len(payloads) > 1:
                raise ConnectionError("gone")

    test = queue(Broken)
    enqueue(test, "", "", "")

    drained = test.drain(until_idle=True)

    assert (drained["failed"], drained["completed"]) == (3, 3)
    assert sorted(map(len, CALLS)) == [1, 1, 1, 3]


def test_a_handler_that_cannot_be_made_or_that_ends_the_process_while_it_reads_fails_every_job_of_its_batch():
    class Unmade(Together):
        def __init__(self) -> None:
            raise ConnectionError("no database")

    class Leaves(Together):
        @classmethod
        def parse(cls, payload):
            raise SystemExit(3)

    for handler, code in ((Unmade, "ConnectionError"), (Leaves, "SystemExit")):
        test = queue(handler, max_attempts=3)
        enqueue(test, "", "", "")

        assert test.drain()["failed"] == 3
        assert {(job.status, job.last_error_code, job.attempts) for job in test.jobs()} == {(JobStatus.FAILED, code, 1)}


@pytest.mark.parametrize("answers", [[1], "three", {1: 2}])
def test_an_answer_that_does_not_fit_its_payloads_says_what_is_asked_for(answers):
    class Odd(Together):
        def handle_batch(self, payloads, context):
            return answers if len(payloads) > 1 else None

    test = queue(Odd)
    enqueue(test, "", "", "")

    assert test.drain()["failed"] == 3
    assert "return a list with, for each payload" in (test.jobs()[0].last_error or "")


def test_a_payload_that_does_not_fit_the_model_fails_only_its_own_job():
    # Enqueue would refuse it: a model that became narrower meets jobs that were accepted before.
    test = queue(check_payload=False)
    enqueue(test, "", "")
    test.queue.enqueue("count", {"number": "many"})

    drained = test.drain()

    assert (drained["completed"], drained["dead_letter"]) == (2, 1)
    assert CALLS == [[0, 1]]


def test_a_cancel_that_was_requested_meanwhile_wins_over_its_own_job_s_failure_only():
    class Cancelling(Together):
        def handle_batch(self, payloads, context):
            test.queue.cancel(context.jobs[0].job_id, reason="stop")
            return [RuntimeError("boom"), RuntimeError("boom")]

    test = queue(Cancelling)
    enqueue(test, "", "")

    drained = test.drain()

    assert (drained["cancelled"], drained["failed"]) == (1, 1)


def test_of_two_copies_of_a_batch_one_runs():
    test = queue()
    enqueue(test, "", "", "")
    handed: list[Sequence[Handover]] = []
    test.dispatch_batch = lambda handovers, function: handed.append(handovers)  # type: ignore[method-assign]
    test.drain()
    worker = Worker(test.services, {"count": Together}, worker_id="w", limit_time=False)

    first, second = worker.run_batch(handed[0]), worker.run_batch(handed[0])

    assert (set(first.values()), set(second.values())) == ({"completed"}, {"not_started"})
    assert CALLS == [[0, 1, 2]]


def test_a_batch_that_died_is_repeated_one_by_one():
    test = queue()
    enqueue(test, *[""] * 5)

    def die(handovers: Sequence[Handover], function: str | None) -> None:
        with pytest.raises(KeyboardInterrupt):
            Worker(test.services, {"count": Dying}, worker_id="dying", limit_time=False).run_batch(handovers)

    test.dispatch_batch = die  # type: ignore[method-assign]
    test.drain(until_idle=True)

    assert sorted(CALLS) == [[0], [1], [2], [3], [4]]
    assert {(job.status, job.attempts) for job in test.jobs()} == {(JobStatus.COMPLETED, 2)}
    assert {run.error_code for job in test.jobs() for run in job.runs} == {"worker_lost", None}


@pytest.mark.parametrize("is_made", [True, False])
def test_an_outage_at_one_job_s_start_keeps_no_other_of_its_batch_from_its_end(monkeypatch, is_made):
    """Neither the answer to the batch arrives (which may have been made) nor that to one job's own start."""
    test = queue()
    enqueue(test, "", "", "")
    handed: list[Sequence[Handover]] = []
    test.dispatch_batch = lambda handovers, function: handed.append(handovers)  # type: ignore[method-assign]
    test.drain()
    jobs = test.services.store.jobs
    apply_many, advance, outages = jobs.apply_many, jobs.apply_and_read, [1]

    def lose_first(writes: Any) -> Any:
        if outages and outages.pop():
            if is_made:
                apply_many(writes)
            raise StoreUnavailableError("no answer")
        return apply_many(writes)

    def lose_second(write: Any) -> Any:
        if write.job_id == handed[0][1].job_id:
            raise StoreUnavailableError("no answer")
        return advance(write)

    monkeypatch.setattr(jobs, "apply_many", lose_first)
    monkeypatch.setattr(jobs, "apply_and_read", lose_second)
    with pytest.raises(StoreUnavailableError):
        Worker(test.services, {"count": Together}, worker_id="w", limit_time=False).run_batch(handed[0])

    assert [len(each) for each in CALLS] == [2]
    became = {job.job_id: job.status for job in test.jobs()}
    assert [became[each.job_id] for each in handed[0]] == [
        JobStatus.COMPLETED,
        JobStatus.IN_PROGRESS,
        JobStatus.COMPLETED,
    ]


@pytest.mark.parametrize(
    ("how", "owner", "name", "becomes"),
    [("", Attempt, "ended", "completed"), ("raise", signals, "fail", "failed")],
)
def test_whatever_goes_wrong_with_the_end_of_one_job_the_others_have_theirs(monkeypatch, how, owner, name, becomes):
    test = queue()
    enqueue(test, how, how, how)
    handed: list[Sequence[Handover]] = []
    test.dispatch_batch = lambda handovers, function: handed.append(handovers)  # type: ignore[method-assign]
    test.drain()
    end = getattr(owner, name)

    def unless_first(attempt: Attempt, *given: Any, **options: Any) -> Any:
        if attempt.job.job_id == handed[0][0].job_id:
            raise ZeroDivisionError("a feature's mistake")
        return end(attempt, *given, **options)

    monkeypatch.setattr(owner, name, unless_first)
    with pytest.raises(ZeroDivisionError):
        Worker(test.services, {"count": Together}, worker_id="w", limit_time=False).run_batch(handed[0])

    logged = test.telemetry.of(Event(f"job_{becomes}"))
    assert {each["job_id"] for each in logged} == {each.job_id for each in handed[0][1:]}
    became = {job.job_id: job.status for job in test.jobs()}
    assert [became[each.job_id] for each in handed[0][1:]] == [becomes, becomes]


class Dying(Together):
    def handle_batch(self, payloads, context):
        raise KeyboardInterrupt  # as the end of a process, it passes by all that would write an end


def test_a_job_at_its_last_attempt_starts_behind_the_others_so_that_it_dies_of_nobody_s_crash():
    test = queue(max_attempts=1)
    enqueue(test, "", "", "")

    assert test.drain()["completed"] == 3
    assert sorted(CALLS) == [[0], [1], [2]]


def test_jobs_whose_times_do_not_fit_into_one_invocation_start_at_their_turn():
    class Slow(Together):
        def handle_batch(self, payloads, context):
            super().handle_batch(payloads, context)
            started.append(context.jobs[0].started_at)
            test.clock.advance(timedelta(minutes=6))

    started: list[Any] = []
    test = queue(Slow, timeout=timedelta(minutes=7))
    enqueue(test, "", "", "")

    drained = test.drain()

    assert (drained["completed"], drained["released"]) == (3, 1)
    assert sorted(CALLS) == [[0], [1], [2]]
    assert len(set(started)) == 3
    assert {job.attempts for job in test.jobs()} == {1}


def test_a_job_waits_for_others_before_it_is_claimed_and_no_longer_than_its_wait():
    test = queue(wait=timedelta(seconds=1))
    enqueue(test, "", "")

    assert test.drain().total == 0
    assert {job.dispatches for job in test.jobs()} == {0}
    test.clock.advance(timedelta(milliseconds=500))
    enqueue(test, *[""] * 3)
    assert test.drain().total == 0
    test.clock.advance(timedelta(milliseconds=500))

    assert test.drain()["completed"] == 5
    assert sorted(map(len, CALLS)) == [5]


def test_a_full_batch_waits_for_nobody():
    test = queue(size=3, wait=timedelta(minutes=1))
    enqueue(test, "", "", "")

    assert test.drain()["completed"] == 3


def test_other_types_do_not_wait_with_it():
    test = queue(wait=timedelta(seconds=5))
    test.register("plain", Each)
    enqueue(test, "")
    test.queue.enqueue("plain", {"number": 7})

    assert test.drain()["completed"] == 1
    assert CALLS == [[7]]


def test_a_paused_type_s_batch_is_given_back_whole():
    test = queue()
    enqueue(test, "", "")
    handed: list[Sequence[Handover]] = []
    test.dispatch_batch = lambda handovers, function: handed.append(handovers)  # type: ignore[method-assign]
    test.drain()
    test.operator.pause("count", reason="stop")
    test.services.deployment.forget()

    done = Worker(test.services, {"count": Together}, worker_id="w", limit_time=False).run_batch(handed[0])

    assert set(done.values()) == {"released"}
    assert {job.attempts for job in test.jobs()} == {0}


def test_an_async_handle_batch_is_awaited():
    class Later(Together):
        async def handle_batch(self, payloads, context):
            CALLS.append(sorted(payload.number for payload in payloads))

    test = queue(Later)
    enqueue(test, "", "")

    assert test.drain()["completed"] == 2
    assert CALLS == [[0, 1]]
