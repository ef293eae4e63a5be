"""One attempt at a job: given back before it has started, kept alive while it runs, ended by one write.

`release` and `expire_if_too_late` are for a hand-over that does not come to its start. `Attempt` owns a started job,
and is the only way in which a handler's process writes to it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict, Unpack

from leasehold.kernel.end import (
    Ending,
    Failure,
    handed_back_values,
    is_given_up,
    is_last_attempt,
    log_cancelled,
    log_dead,
    retry_values,
    waiting_values,
)
from leasehold.kernel.errors import LeaseLostError, StoreUnavailableError
from leasehold.kernel.job import MAX_REASON_BYTES, Outcome
from leasehold.kernel.jobs import TransitionRefused, Write
from leasehold.kernel.payload import APART, decode, shortened
from leasehold.kernel.transitions import ABORT, COMPLETE, DEAD_LETTER, EXPIRE, EXTEND, FAIL, RELEASE, SNOOZE, Transition
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.execute import Handover
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import ForeignItem

_FIRST_PAUSE = timedelta(milliseconds=200)
_LONGEST_PAUSE = timedelta(seconds=5)
_CANCEL_READ_EVERY = timedelta(seconds=5)


def release(handover: Handover, reason: str, services: Services, *, until: datetime | None = None) -> bool:
    """Put back a claimed job that has not started, due after a backoff or at `until`. No attempt is used.

    False if somebody else decided about it meanwhile.
    """
    job = services.store.jobs.get(handover.job_id)
    if job is None or job.locked_by != handover.token:
        return False
    now = services.clock.now()
    try:
        if until is None and is_given_up(job, now):
            ending = _give_up(job, reason, services)
        else:
            values = handed_back_values(job, services) if until is None else waiting_values(job, until, now)
            ending = Ending(job, RELEASE, services, values=values)
            ending.commit()
            services.telemetry.event(
                Event.JOB_RELEASED, job_id=job.job_id, job_type=job.job_type, dispatches=job.dispatches, reason=reason
            )
    except TransitionRefused:
        return False
    ending.after()
    return True


def _give_up(job: Job, reason: str, services: Services) -> Ending:
    text = f"no handler was reached in {job.dispatches} hand-overs: {reason}"
    failure = Failure(error=text, code="undeliverable")
    ending = Ending(job, DEAD_LETTER, services, failure=failure)
    ending.commit()
    log_dead(job, failure, services)
    return ending


def expire_if_too_late(job: Job | None, services: Services) -> bool:
    """End a job that was not started by its `start_by`; False if that is not what kept it from starting."""
    now = services.clock.now()
    if job is None or job.start_by is None or job.start_by > now or job.has_ended:
        return False
    reason = f"not started by {job.start_by.isoformat(timespec='milliseconds')}"
    ending = Ending(job, EXPIRE, services, reason=reason)
    try:
        ending.commit()
    except TransitionRefused:
        return False
    log_cancelled(job, reason, services)
    ending.after()
    return True


class How(TypedDict, total=False):
    """What an end of a run says; see `Ending`."""

    outcome: Outcome
    failure: Failure | None
    reason: str | None
    values: Mapping[str, object]
    failed: bool | None
    foreign: Sequence[ForeignItem]


class Attempt:
    """Owns a started job under a nonce that was made in this invocation; `job` is the job as the start left it."""

    def __init__(self, job: Job, job_type: JobType, services: Services, *, deadline: datetime) -> None:
        assert job.locked_by is not None
        self.job = job
        self.job_type = job_type
        self.deadline = deadline
        self.nonce = job.locked_by
        self.artifacts: list[str] = []
        self.has_ended = False
        self._services = services
        self._lease_until = job.lock_expires_at or deadline
        self._cancel_read_at: datetime | None = None

    @property
    def lease_until(self) -> datetime:
        return self._lease_until

    @property
    def services(self) -> Services:
        return self._services

    def read_payload(self) -> Json:
        """What the job is to do; PayloadMissingError if it stood apart and is gone."""
        form = self.job.stored_payload
        if isinstance(form, str) and not form.startswith(APART):  # nearly all
            return decode(form)
        # Not by way of `self.job`, which the heartbeat may replace meanwhile.
        now = self._services.clock.now()
        half = now + (self.deadline - now) / 2  # the other half is for the end, which has to be written either way
        job = self._with_retries(lambda: self._services.store.payloads.read(self.job), until=half)
        self.job = job
        return job.payload

    def extend(self) -> datetime:
        """Prolong the lease from now; LeaseLostError once it has expired or somebody else has the job."""
        now = self._services.clock.now()
        until = max(now + self.job_type.lease_length, self._lease_until + timedelta(milliseconds=1))
        assert self.job.due is not None
        values = {"lock_expires_at": until, "due_key": self.job.due.moved_to(until)}
        seen = {"locked_by": self.nonce, "now": now, "until": until}
        write = Write(job_id=self.job.job_id, transition=EXTEND, seen=seen, values=values)
        try:
            current = self._services.store.jobs.apply_and_read(write)
        except TransitionRefused as refused:
            # The heartbeat and the handler may extend at the same time: the shorter of the two has lost nothing.
            if refused.current is None or not self._has_beyond(until, refused.current):
                raise self._lost(EXTEND, refused.current) from None
            current = refused.current
        self._see(current)
        self._cancel_read_at = now
        self._lease_until = max(self._lease_until, current.lock_expires_at or until)
        return self._lease_until

    def is_cancel_requested(self) -> bool:
        """Whether an operator asked this job to stop; read at most every few seconds."""
        now = self._services.clock.now()
        if self.job.cancel_requested is None and (
            self._cancel_read_at is None or now - self._cancel_read_at >= _CANCEL_READ_EVERY
        ):
            self._cancel_read_at = now
            try:
                current = self._services.store.jobs.get(self.job.job_id)
            except StoreUnavailableError:
                return False  # nothing is known to have changed; the next look asks again
            if current is None or current.locked_by != self.nonce:
                raise LeaseLostError(self.job.job_id, "reading it", current.status if current else None)
            self._see(current)
        return self.job.cancel_requested is not None

    def complete(self, result_text: str | None, *, skipped: str | None = None) -> None:
        self._end(
            COMPLETE,
            outcome=Outcome.COMPLETED if skipped is None else Outcome.SKIPPED,
            reason=skipped,
            values=self._result(result_text),
            failed=False if skipped is None else None,
        )

    def completion(self, result_text: str | None) -> Ending:
        """The end of a completed attempt, not yet written: a batch writes many by one request. See `finish`."""
        values, artifacts = self._result(result_text), tuple(self.artifacts)
        return self._with_retries(
            lambda: Ending(
                self.job,
                COMPLETE,
                self._services,
                outcome=Outcome.COMPLETED,
                values=values,
                failed=False,
                artifacts=artifacts,
                job_type=self.job_type,
            )
        )

    def finish(self, ending: Ending, *, is_written: bool) -> None:
        """Tidy up behind a completion that a batch has written; or write it, if the batch has not, or may not have."""
        if not is_written:
            try:
                self._with_retries(ending.commit)
            except TransitionRefused as refused:
                raise self._lost(COMPLETE, refused.current) from None
        self.has_ended = True
        ending.after()

    def complete_with(self, items: Sequence[ForeignItem], result_text: str | None) -> None:
        """Complete together with the handler's own writes, or not at all."""
        values = self._result(result_text)
        self._end(COMPLETE, outcome=Outcome.COMPLETED, values=values, failed=False, foreign=items)

    def snooze(self, delay: timedelta) -> bool:
        """Give the attempt back and wait; False if a requested cancel ended the job instead."""
        now = self._services.clock.now()
        values = waiting_values(self.job, now + delay, now, attempt=self.job.attempts)
        return self._unless_cancelled(SNOOZE, values=values)

    def abort(self, reason: str, failure: Failure | None = None) -> None:
        """End as cancelled: the handler said so, or it failed after a cancel was requested."""
        outcome = Outcome.SKIPPED if failure is None else Outcome.FAILED
        self._end(ABORT, outcome=outcome, failure=failure, reason=shortened(reason, MAX_REASON_BYTES))

    def fail(self, failure: Failure) -> str:
        """Record the failure; returns how the job goes on: failed, dead_letter or cancelled."""
        is_last = is_last_attempt(self.job, failure)
        step = DEAD_LETTER if is_last else FAIL
        values = {} if is_last else retry_values(self.job, self.job_type, self._services)
        if not self._unless_cancelled(step, outcome=Outcome.FAILED, failure=failure, values=values, failed=True):
            return "cancelled"
        return "dead_letter" if is_last else "failed"

    def _has_beyond(self, until: datetime, current: Job) -> bool:
        """Whether the job is ours for longer than that."""
        return current.locked_by == self.nonce and (current.lock_expires_at or until) > until

    def _see(self, current: Job) -> None:
        """The job as it is now. Its payload cannot have changed while it runs, and is not read again."""
        self.job = replace(current, read_payload=self.job.read_payload)

    def _unless_cancelled(self, step: Transition, **how: Unpack[How]) -> bool:
        """A requested cancel wins over every way back, and over a dead letter."""
        try:
            self._commit(step, **how)
        except TransitionRefused as refused:
            current = refused.current
            if current is None or current.locked_by != self.nonce or current.cancel_requested is None:
                raise self._lost(step, current) from None
            self._see(current)
            self.abort(current.cancel_reason or "cancelled", how.get("failure"))
            return False
        return True

    def _end(self, step: Transition, **how: Unpack[How]) -> None:
        """Write an end that only the loss of the lease can keep from being written."""
        try:
            self._commit(step, **how)
        except TransitionRefused as refused:
            raise self._lost(step, refused.current) from None

    def _commit(self, step: Transition, **how: Unpack[How]) -> None:
        artifacts = tuple(self.artifacts) if "outcome" in how else ()
        ending = self._with_retries(
            lambda: Ending(self.job, step, self._services, job_type=self.job_type, artifacts=artifacts, **how)
        )
        self._with_retries(ending.commit)
        self.has_ended = True
        ending.after()

    def _result(self, result_text: str | None) -> dict[str, object]:
        values: dict[str, object] = {} if result_text is None else {"result": result_text}
        return {**values, "artifacts": tuple(self.artifacts)} if self.artifacts else values

    def _lost(self, transition: Transition, current: Job | None) -> LeaseLostError:
        return LeaseLostError(self.job.job_id, transition.name, current.status if current else None)

    def _with_retries[T](self, call: Callable[[], T], *, until: datetime | None = None) -> T:
        """Try until the platform's deadline: giving up would use an attempt up, or do work again that is done."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return call()
            except StoreUnavailableError:
                if self._services.clock.now() + pause >= (until or self.deadline):
                    raise
            self._services.clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
