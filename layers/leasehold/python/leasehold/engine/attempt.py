"""One running attempt at a job: its lease, and the only ways in which it may write."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import LeaseLostError, StoreUnavailableError
from leasehold.domain.lifecycle import (
    ABORT,
    COMPLETE,
    DEAD_LETTER,
    EXTEND,
    FAIL,
    SNOOZE,
    Transition,
    Write,
)
from leasehold.domain.run import MAX_REASON_BYTES, Outcome
from leasehold.domain.text import shortened
from leasehold.engine.end_run import RunEnd
from leasehold.engine.endings import (
    Failure,
    dead_letter_of,
    end_values,
    error_values,
    is_last_attempt,
    retry_values,
    run_of,
    waiting_values,
)
from leasehold.engine.tidy import give_back_seats, retire_dedup_record
from leasehold.engine.trip import after_run
from leasehold.store.jobs import TransitionRefused
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType
    from leasehold.domain.payload import Json
    from leasehold.engine.parts import Parts
    from leasehold.store.table import ForeignItem

_FIRST_PAUSE = timedelta(milliseconds=200)
_LONGEST_PAUSE = timedelta(seconds=5)
_CANCEL_READ_EVERY = timedelta(seconds=5)


class Attempt:
    """Owns a started job under a nonce that was made in this invocation; `job` is the job as the start left it."""

    def __init__(
        self, job: Job, job_type: JobType, parts: Parts, *, deadline: datetime, probing: Circuit | None = None
    ) -> None:
        assert job.locked_by is not None
        self.job = job
        self.job_type = job_type
        self.deadline = deadline
        self.nonce = job.locked_by
        self.artifacts: list[str] = []
        self.has_ended = False
        self._parts = parts
        self._probing = probing
        self._lease_until = job.lock_expires_at or deadline
        self._cancel_read_at: datetime | None = None
        self._transactions = 0

    @property
    def lease_until(self) -> datetime:
        return self._lease_until

    def read_payload(self) -> Json:
        """What the job is to do; PayloadMissingError if it stood apart and is gone."""
        if self.job.payload_name is None:
            return self.job.payload
        # Not by way of `self.job`, which the heartbeat may replace meanwhile.
        now = self._parts.clock.now()
        half = now + (self.deadline - now) / 2  # the other half is for the end, which has to be written either way
        job = self._patiently(lambda: self._parts.store.payloads.read(self.job), until=half)
        self.job = job
        return job.payload

    def extend(self) -> datetime:
        """Prolong the lease from now; LeaseLostError once it has expired or somebody else has the job."""
        now = self._parts.clock.now()
        until = max(now + self.job_type.lease_length, self._lease_until + timedelta(milliseconds=1))
        assert self.job.due is not None
        values = {"lock_expires_at": until, "due_key": self.job.due.moved_to(until)}
        write = self._write(EXTEND, values, {"now": now, "until": until})
        try:
            current = self._parts.store.jobs.advance(write)
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
        now = self._parts.clock.now()
        if self.job.cancel_requested is None and (
            self._cancel_read_at is None or now - self._cancel_read_at >= _CANCEL_READ_EVERY
        ):
            current = self._parts.store.jobs.get(self.job.job_id)
            if current is None or current.locked_by != self.nonce:
                raise LeaseLostError(self.job.job_id, "reading it", current.status if current else None)
            self._see(current)
            self._cancel_read_at = now
        return self.job.cancel_requested is not None

    def complete(self, result_text: str | None, *, skipped: str | None = None) -> None:
        values = self._completion(result_text, skipped)
        self._end_run(COMPLETE, values)
        self._after_end(values, failed=False if skipped is None else None)

    def complete_with(self, items: Sequence[ForeignItem], result_text: str | None) -> None:
        """Complete together with the handler's own writes, or not at all."""
        values = self._completion(result_text, None)
        self._end_run(COMPLETE, values, foreign=items)
        self._after_end(values, failed=False)

    def snooze(self, delay: timedelta) -> bool:
        """Give the attempt back and wait; False if a requested cancel ended the job instead."""
        now = self._parts.clock.now()
        values = {**waiting_values(self.job, now + delay, now), "last_attempt_at": self.job.started_at}
        if not self._unless_cancelled(SNOOZE, values):
            return False
        self._after_end({})
        return True

    def abort(self, reason: str, failure: Failure | None = None) -> None:
        """End as cancelled: the handler said so, or it failed after a cancel was requested."""
        now = self._parts.clock.now()
        reason = shortened(reason, MAX_REASON_BYTES)
        outcome = Outcome.SKIPPED if failure is None else Outcome.FAILED
        values = {
            **self._end(ABORT),
            **(error_values(failure) if failure else {}),
            "cancel_reason": reason,
            "runs": run_of(self.job, now, outcome, failure=failure, reason=reason, artifacts=tuple(self.artifacts)),
        }
        self._end_run(ABORT, values)
        self._after_end(values)

    def fail(self, failure: Failure) -> str:
        """Record the failure; returns how the job goes on: failed, dead_letter or cancelled."""
        if is_last_attempt(self.job, failure):
            return "dead_letter" if self._bury(failure) else "cancelled"
        now = self._parts.clock.now()
        artifacts = tuple(self.artifacts)
        values = retry_values(self.job, failure, now, self.job_type, self._parts.chance, artifacts=artifacts)
        if not self._unless_cancelled(FAIL, values, failure):
            return "cancelled"
        self._after_end({}, failed=True)
        return "failed"

    def _has_beyond(self, until: datetime, current: Job) -> bool:
        """Whether the job is ours for longer than that."""
        return current.locked_by == self.nonce and (current.lock_expires_at or until) > until

    def _see(self, current: Job) -> None:
        """The job as it is now. Its payload cannot have changed while it runs, and is not read again."""
        self.job = replace(current, read_payload=self.job.read_payload)

    def _bury(self, failure: Failure) -> bool:
        now = self._parts.clock.now()
        runs = run_of(self.job, now, Outcome.FAILED, failure=failure, artifacts=tuple(self.artifacts))
        values = {**self._end(DEAD_LETTER), **error_values(failure), "runs": runs}
        shown = self._patiently(lambda: self._parts.store.payloads.shown(self.job))
        letter = dead_letter_of(shown, failure, now, runs)
        try:
            self._patiently(self._run_end(DEAD_LETTER, values, letter=letter).commit)
        except TransitionRefused as refused:
            self._abort_if_cancelled(DEAD_LETTER, refused.current, failure)
            return False
        self._after_end(values, failed=True)
        return True

    def _unless_cancelled(
        self, transition: Transition, values: Mapping[str, object], failure: Failure | None = None
    ) -> bool:
        try:
            self._patiently(self._run_end(transition, values).commit)
        except TransitionRefused as refused:
            self._abort_if_cancelled(transition, refused.current, failure)
            return False
        return True

    def _abort_if_cancelled(self, transition: Transition, current: Job | None, failure: Failure | None) -> None:
        """A requested cancel wins over every way back."""
        if current is None or current.locked_by != self.nonce or current.cancel_requested is None:
            raise self._lost(transition, current) from None
        self._see(current)
        self.abort(current.cancel_reason or "cancelled", failure)

    def _completion(self, result_text: str | None, skipped: str | None) -> dict[str, object]:
        now = self._parts.clock.now()
        outcome = Outcome.COMPLETED if skipped is None else Outcome.SKIPPED
        artifacts = tuple(self.artifacts)
        values = {
            **self._end(COMPLETE),
            "runs": run_of(self.job, now, outcome, reason=skipped, artifacts=artifacts),
        }
        if result_text is not None:
            values["result"] = result_text
        if artifacts:
            values["artifacts"] = artifacts
        return values

    def _end(self, transition: Transition) -> dict[str, object]:
        registry = self._parts.deployment.registry()
        return end_values(self.job, transition, self._parts.clock.now(), self.job_type, registry)

    def _end_run(
        self, transition: Transition, values: Mapping[str, object], *, foreign: Sequence[ForeignItem] = ()
    ) -> None:
        """Write an end that only the loss of the lease can keep from being written."""
        try:
            self._patiently(self._run_end(transition, values, foreign=foreign).commit)
        except TransitionRefused as refused:
            raise self._lost(transition, refused.current) from None

    def _run_end(
        self,
        transition: Transition,
        values: Mapping[str, object],
        *,
        letter: DeadLetter | None = None,
        foreign: Sequence[ForeignItem] = (),
    ) -> RunEnd:
        self._transactions += 1
        token = request_token(self.nonce, transition.name, str(self._transactions))
        write = self._write(transition, values)
        return RunEnd(self.job, write, self._parts, token=token, letter=letter, foreign=foreign)

    def _write(
        self, transition: Transition, values: Mapping[str, object], seen: Mapping[str, object] | None = None
    ) -> Write:
        return Write(
            job_id=self.job.job_id,
            transition=transition,
            seen={"locked_by": self.nonce, **(seen or {})},
            values=values,
        )

    def _lost(self, transition: Transition, current: Job | None) -> LeaseLostError:
        return LeaseLostError(self.job.job_id, transition.name, current.status if current else None)

    def _patiently[T](self, call: Callable[[], T], *, until: datetime | None = None) -> T:
        """Try until the platform's deadline: giving up would use an attempt up, or do work again that is done."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return call()
            except StoreUnavailableError:
                if self._parts.clock.now() + pause >= (until or self.deadline):
                    raise
            self._parts.clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _after_end(self, values: Mapping[str, object], *, failed: bool | None = None) -> None:
        """`failed` is None for an end that says nothing about how well its type works."""
        self.has_ended = True
        give_back_seats(self.job, self._parts)
        retire_dedup_record(self.job, values.get("expires_at"), self._parts)
        after_run(self.job, self._parts, failed=failed, probing=self._probing)
