"""Execute a batch: several hand-overs of a type in one invocation, each with a lease, a run and an end of its own.

Jobs that were never started before start together, by one request, and those that complete end by one. Whatever else
becomes of a job (it raises, is snoozed, cancelled, loses its lease) is its own write and touches no other. All others
run alone, one after the other, behind the batch: a job that was started before may be the one that kills its worker,
and one at its last attempt must not die of another's crash.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from leasehold import features
from leasehold.kernel.errors import LeaseLostError, StoreError
from leasehold.kernel.execute import Attempt, Execution
from leasehold.kernel.job_type import LONGEST_INVOCATION, START_AND_RESERVE
from leasehold.kernel.payload import encode_result
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.release import release
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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


@dataclass(slots=True)
class BatchExecutor:
    """One batch, of hand-overs of one type.

    work: gets attempts that have started and returns, for each in order, its result or the exception of its own.
    reserve: so much time must be left behind a run that is alone. time_left: how long this invocation lives.
    """

    executor: Executor
    services: Services
    job_type: JobType
    work: Work
    reserve: timedelta
    time_left: timedelta
    _done: dict[JobId, Execution] = field(init=False, default_factory=dict)
    # What one of them raised; it is raised again once the others have their ends.
    _unwritten: Exception | None = field(init=False, default=None)

    def execute(self, handovers: Sequence[Handover]) -> dict[JobId, Execution]:
        ends_at = self.services.clock.now() + self.time_left
        done, turn_back = self._done, self.executor.turn_back
        turned_back = [each.job_id for each in handovers if turn_back(each, self.job_type)]
        done |= dict.fromkeys(turned_back, Execution.RELEASED)
        ready = [each for each in handovers if each.job_id not in done]
        together = self._never_started(ready)
        if together:
            self._run_together(together)
        for handover in ready:
            if handover.job_id not in done and handover.job_id not in {each.job_id for each, _ in together}:
                done[handover.job_id] = self._run_alone(handover, ends_at, is_first=not done)
        return done

    # --- together

    def _never_started(self, handovers: Sequence[Handover]) -> list[tuple[Handover, Job]]:
        """Those that may start together, with their jobs as they are; none where that would be one alone."""
        jobs = self.services.store.jobs
        if not starts_together(self.job_type) or len(handovers) < 2 or jobs.refused_batches is not None:
            return []
        found, _ = self.services.store.listings.look_up([each.job_id for each in handovers])
        together = [
            (each, job)
            for each in handovers
            if (job := found.get(each.job_id)) is not None and _may_start_with_others(job, each)
        ]
        return together if len(together) > 1 else []

    def _run_together(self, handed_over: Sequence[tuple[Handover, Job]]) -> None:
        attempts = self._start(handed_over)
        outcomes = self._run_alive(attempts) if attempts else []
        completing: list[tuple[Attempt, Ending]] = []
        for attempt, outcome in zip(attempts, outcomes, strict=True):
            with self._others_go_on():  # whatever it is, its lease runs out
                ending = self._completion(attempt, outcome)
                if ending is not None:
                    completing.append((attempt, ending))
        with self._others_go_on():
            self._complete(completing)
        if self._unwritten is not None:
            raise self._unwritten

    @contextmanager
    def _others_go_on(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._unwritten = error

    def _start(self, handed_over: Sequence[tuple[Handover, Job]]) -> list[Attempt]:
        """Those that have started; where one's start is not known, the others have their run all the same."""
        writes = [self.executor.start_of(each, self.job_type, self.time_left) for each, _ in handed_over]
        answers: Sequence[object]
        try:
            answers = self.services.store.jobs.apply_many(writes)
        except StoreError as error:
            answers = [error] * len(writes)
        attempts: list[Attempt] = []
        for (handover, job), write, answer in zip(handed_over, writes, answers, strict=True):
            with self._others_go_on():
                # The same write once more decides about whom the batch left open, also if it was made after all.
                started = _started(job, write) if answer is None else self._decided(handover, write)
                if started is not None:
                    attempts.append(self.executor.started(started, self.job_type, self.time_left))
        return attempts

    def _decided(self, handover: Handover, write: Write) -> Job | None:
        try:
            return self.services.store.jobs.apply_and_read(write)
        except TransitionRefused as refused:
            self._done[handover.job_id] = self.executor.not_started(handover, refused.current)
            return None

    def _run_alive(self, attempts: Sequence[Attempt]) -> list[object]:
        """Run attempts together, each with its own heartbeat; what one of them lost is its own outcome."""
        kept = [self.executor.keep_alive(attempt) for attempt in attempts] if self.job_type.heartbeat else []
        for alive in kept:
            alive.__enter__()
        outcomes: list[object] = []
        try:
            outcomes = list(self.work(attempts))
        except (Exception, SystemExit) as error:
            outcomes = [error] * len(attempts)  # all have started: each is owed an end
        finally:
            for at, alive in enumerate(kept):
                try:
                    alive.__exit__(None, None, None)
                except LeaseLostError as lost:
                    outcomes[at : at + 1] = [lost] if outcomes else []
        return outcomes

    def _completion(self, attempt: Attempt, outcome: object) -> Ending | None:
        """The end of an attempt that completes; None if it has ended already, or ends here in another way."""
        job_id, result_text = attempt.job.job_id, None
        if outcome is not None and not isinstance(outcome, BaseException) and not attempt.has_ended:
            try:
                result_text = encode_result(outcome)
            except ValueError as unfit:
                outcome = unfit
        if isinstance(outcome, BaseException):
            error = outcome
            self._done[job_id] = self._unless_lost(
                attempt, lambda: features.end_as_raised(attempt, error, self.executor)
            )
            return None
        if attempt.has_ended:  # by transact_complete
            self._done[job_id] = self.executor.completed(attempt)
            return None
        return attempt.completion(result_text)

    def _complete(self, completing: Sequence[tuple[Attempt, Ending]]) -> None:
        plain = [(attempt, ending) for attempt, ending in completing if ending.is_plain]
        try:
            answers = self.services.store.jobs.apply_many([ending.write for _, ending in plain])
        except StoreError:
            answers = []  # each is written by itself, for as long as there is time
        written = {attempt.job.job_id for (attempt, _), answer in zip(plain, answers, strict=False) if answer is None}
        for attempt, ending in completing:
            finish = partial(self._finish, attempt, ending, written)
            with self._others_go_on():
                self._done[attempt.job.job_id] = self._unless_lost(attempt, finish)

    def _finish(self, attempt: Attempt, ending: Ending, written: set[JobId]) -> Execution:
        if attempt.job.job_id in written:
            attempt.ended(ending)
        else:
            attempt.finish(ending)
        return self.executor.completed(attempt)

    def _unless_lost(self, attempt: Attempt, end: Callable[[], Execution]) -> Execution:
        try:
            return end()
        except LeaseLostError as lost:
            self.executor.log_lost(attempt.job.job_id, attempt.job.job_type, lost.transition)
            return Execution.LEASE_LOST

    # --- alone

    def _run_alone(self, handover: Handover, ends_at: datetime, *, is_first: bool) -> Execution:
        now = self.services.clock.now()
        left = ends_at - now
        if not is_first and left < self.job_type.timeout + self.reserve:
            release(handover, "its batch had no time left for it", self.services, until=now)
            return Execution.RELEASED
        return self.executor.execute(handover, self._work_alone, remaining=left)

    def _work_alone(self, attempt: Attempt) -> object:
        (outcome,) = self.work([attempt])
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


def starts_together(job_type: JobType) -> bool:
    """Whether an invocation has the time for every job of a batch; else each starts when its turn comes."""
    batch = job_type.batch
    return batch is not None and job_type.timeout * batch.size + START_AND_RESERVE <= LONGEST_INVOCATION
