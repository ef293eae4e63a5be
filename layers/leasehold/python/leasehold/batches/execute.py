"""Execute a batch: several hand-overs of a type in one invocation, each with a lease, a run and an end of its own.

Jobs that were never started before start together, by one request, and those that complete end by one. Whatever else
becomes of a job (it raises, is snoozed, cancelled, loses its lease) is its own write and touches no other. All others
run alone, one after the other, behind the batch: a job that was started before may be the one that kills its worker,
and one at its last attempt must not die of another's crash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.kernel.errors import LeaseLostError, StoreError
from leasehold.kernel.execute import Attempt, Execution
from leasehold.kernel.jobs import TransitionRefused
from leasehold.kernel.payload import encode_result
from leasehold.kernel.release import release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from leasehold.kernel.end import Ending
    from leasehold.kernel.execute import Executor
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import Write
    from leasehold.kernel.keys import Due, JobId
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services

    # What each attempt came to: a JSON value, or what was raised in its place.
    type Work = Callable[[Sequence[Attempt]], Sequence[object]]


class BatchExecutor:
    """`work` gets attempts that have started and returns, for each in order, its result or the exception of its own."""

    def __init__(self, executor: Executor, services: Services, *, reserve: timedelta) -> None:
        self._executor = executor
        self._services = services
        self._reserve = reserve

    def execute(
        self, handovers: Sequence[Handover], work: Work, *, remaining: timedelta | None = None
    ) -> dict[JobId, Execution]:
        job_type = self._services.deployment.settings_of(handovers[0].job_type)
        time_left = remaining or job_type.longest_run
        ends_at = self._services.clock.now() + time_left
        done: dict[JobId, Execution] = {}
        ready = [each for each in handovers if not self._is_turned_back(each, job_type, done)]
        together = self._never_started(ready, job_type)
        if together:
            self._run_together(together, work, job_type, time_left, done)
        for handover in ready:
            if handover.job_id not in done and handover.job_id not in {each.job_id for each, _ in together}:
                done[handover.job_id] = self._run_alone(handover, work, job_type, ends_at, is_first=not done)
        return done

    def _is_turned_back(self, handover: Handover, job_type: JobType, done: dict[JobId, Execution]) -> bool:
        if not self._executor.turn_back(handover, job_type):
            return False
        done[handover.job_id] = Execution.RELEASED
        return True

    # --- together

    def _never_started(self, handovers: Sequence[Handover], job_type: JobType) -> list[tuple[Handover, Job]]:
        """Those that may start together, with their jobs as they are; none where that would be one alone."""
        if not job_type.starts_together or len(handovers) < 2 or self._services.store.jobs.refused_batches is not None:
            return []
        found, _ = self._services.store.listings.look_up([each.job_id for each in handovers])
        together = [
            (each, job)
            for each in handovers
            if (job := found.get(each.job_id)) is not None and _may_start_with_others(job, each)
        ]
        return together if len(together) > 1 else []

    def _run_together(
        self,
        handed_over: Sequence[tuple[Handover, Job]],
        work: Work,
        job_type: JobType,
        time_left: timedelta,
        done: dict[JobId, Execution],
    ) -> None:
        attempts, unwritten = self._start(handed_over, job_type, time_left, done)
        outcomes = _run_alive(attempts, work, self._executor) if attempts else []
        completing: list[tuple[Attempt, Ending]] = []
        for attempt, outcome in zip(attempts, outcomes, strict=True):
            try:
                ending = self._completion(attempt, outcome, done)
            except Exception as error:  # whatever it is, its lease runs out; the others still have their ends to write
                unwritten = error
                continue
            if ending is not None:
                completing.append((attempt, ending))
        try:
            self._complete(completing, done)
        except Exception as error:
            unwritten = error
        if unwritten is not None:
            raise unwritten

    def _start(
        self,
        handed_over: Sequence[tuple[Handover, Job]],
        job_type: JobType,
        time_left: timedelta,
        done: dict[JobId, Execution],
    ) -> tuple[list[Attempt], Exception | None]:
        """Those that have started, and why another one's start is not known: these have their run all the same."""
        writes = [self._executor.start_of(each, job_type, time_left) for each, _ in handed_over]
        answers: Sequence[object]
        try:
            answers = self._services.store.jobs.apply_many(writes)
        except StoreError as error:
            answers = [error] * len(writes)
        attempts: list[Attempt] = []
        unknown: Exception | None = None
        for (handover, job), write, answer in zip(handed_over, writes, answers, strict=True):
            try:
                # The same write once more decides about whom the batch left open, also if it was made after all.
                started = _started(job, write) if answer is None else self._decided(handover, write, done)
            except Exception as error:
                unknown = error
                continue
            if started is not None:
                attempts.append(self._executor.started(started, job_type, time_left))
        return attempts, unknown

    def _decided(self, handover: Handover, write: Write, done: dict[JobId, Execution]) -> Job | None:
        try:
            return self._services.store.jobs.apply_and_read(write)
        except TransitionRefused as refused:
            done[handover.job_id] = self._executor.not_started(handover, refused.current)
            return None

    def _completion(self, attempt: Attempt, outcome: object, done: dict[JobId, Execution]) -> Ending | None:
        """The end of an attempt that completes; None if it has ended already, or ends here in another way."""
        job_id, result_text = attempt.job.job_id, None
        if outcome is not None and not isinstance(outcome, BaseException) and not attempt.has_ended:
            try:
                result_text = encode_result(outcome)
            except ValueError as unfit:
                outcome = unfit
        if isinstance(outcome, BaseException):
            error = outcome
            done[job_id] = self._unless_lost(attempt, lambda: self._executor.raised(attempt, error))
            return None
        if attempt.has_ended:  # by transact_complete
            done[job_id] = self._executor.completed(attempt)
            return None
        return attempt.completion(result_text)

    def _complete(self, completing: Sequence[tuple[Attempt, Ending]], done: dict[JobId, Execution]) -> None:
        plain = [(attempt, ending) for attempt, ending in completing if ending.is_plain]
        try:
            answers = self._services.store.jobs.apply_many([ending.write for _, ending in plain])
        except StoreError:
            answers = []  # each is written by itself, for as long as there is time
        written = {attempt.job.job_id for (attempt, _), answer in zip(plain, answers, strict=False) if answer is None}
        unwritten: Exception | None = None
        for attempt, ending in completing:
            job_id = attempt.job.job_id
            try:
                done[job_id] = self._unless_lost(
                    attempt,
                    lambda attempt=attempt, ending=ending: self._finish(attempt, ending, written),  # type: ignore[misc]
                )
            except Exception as error:
                unwritten = error
        if unwritten is not None:
            raise unwritten

    def _finish(self, attempt: Attempt, ending: Ending, written: set[JobId]) -> Execution:
        attempt.finish(ending, is_written=attempt.job.job_id in written)
        return self._executor.completed(attempt)

    def _unless_lost(self, attempt: Attempt, end: Callable[[], Execution]) -> Execution:
        try:
            return end()
        except LeaseLostError as lost:
            self._executor.log_lost(attempt.job.job_id, attempt.job.job_type, lost.transition)
            return Execution.LEASE_LOST

    # --- alone

    def _run_alone(
        self, handover: Handover, work: Work, job_type: JobType, ends_at: datetime, *, is_first: bool
    ) -> Execution:
        now = self._services.clock.now()
        if not is_first and ends_at - now < job_type.timeout + self._reserve:
            release(handover, "its batch had no time left for it", self._services, until=now)
            return Execution.RELEASED
        return self._executor.execute(handover, lambda attempt: _alone(work, attempt), remaining=ends_at - now)


def _run_alive(attempts: Sequence[Attempt], work: Work, executor: Executor) -> list[object]:
    """Run attempts together, each with its own heartbeat; what one of them lost is its own outcome."""
    kept = [
        (at, executor.keep_alive(attempt))
        for at, attempt in enumerate(attempts)
        if executor.keep_alive is not None and attempt.job_type.heartbeat
    ]
    for _, alive in kept:
        alive.__enter__()
    outcomes: list[object] = []
    try:
        outcomes = list(work(attempts))
    except (Exception, SystemExit) as error:
        outcomes = [error] * len(attempts)  # all have started: each is owed an end
    finally:
        for at, alive in kept:
            try:
                alive.__exit__(None, None, None)
            except LeaseLostError as lost:
                outcomes[at : at + 1] = [lost] if outcomes else []
    return outcomes


def _alone(work: Work, attempt: Attempt) -> object:
    (outcome,) = work([attempt])
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _may_start_with_others(job: Job, handover: Handover) -> bool:
    is_as_handed_over = job.locked_by == handover.token and job.started_at is None and job.start_by is None
    return is_as_handed_over and job.attempts == 0 and job.max_attempts > 1


def _started(job: Job, write: Write) -> Job:
    """The job as its start left it. Nobody else can have changed it since it was read: its token was still there."""
    values = write.values
    return replace(
        job,
        locked_by=cast("str", values["locked_by"]),
        started_at=cast("datetime", values["started_at"]),
        lock_expires_at=cast("datetime", values.get("lock_expires_at", job.lock_expires_at)),
        due=cast("Due", values.get("due_key", job.due)),
        attempts=1,
        dispatches=0,
        undelivered_since=None,
    )
