"""Execute: the story of a run, from a hand-over to the end that its handler asked for.

A hand-over is turned back while its type may not run. Its start swaps the poller's token for a nonce of this
invocation, so that of two copies one runs. The handler works. An `Attempt` owns the started job, and is the only way in
which a handler's process writes to it: it keeps the lease, and writes the end.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from leasehold import features
from leasehold.kernel.end import Ending
from leasehold.kernel.errors import LeaseLostError, StoreUnavailableError
from leasehold.kernel.job import Outcome
from leasehold.kernel.jobs import Write
from leasehold.kernel.keys import make_nonce, to_text
from leasehold.kernel.payload import OFFLOADED, decode, encode_result
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.transitions import COMPLETE, START, Transition
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.telemetry import COMPLETED, LATENESS, LEASES_LOST, PROCESSING, Event

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime

    from leasehold.kernel.hooks import Hooks
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services

    type Work = Callable[[Attempt], object]
    type KeepAlive = Callable[[Attempt], AbstractContextManager[object]]

_FIRST_PAUSE = timedelta(milliseconds=200)
_LONGEST_PAUSE = timedelta(seconds=5)


class Execution(StrEnum):
    """How one hand-over went."""

    COMPLETED = "completed"
    SKIPPED = "skipped"
    SNOOZED = "snoozed"
    FAILED = "failed"
    DEAD_LETTERED = "dead_letter"
    CANCELLED = "cancelled"
    # The start was refused: a second copy of the hand-over, or one that came too late.
    NOT_STARTED = "not_started"
    RELEASED = "released"
    EXPIRED = "expired"
    LEASE_LOST = "lease_lost"


class Executor:
    """Runs hand-overs in one worker.

    `work` is the handler: it gets the attempt and returns a JSON value. `keep_alive` surrounds it with a heartbeat for
    types that ask for one. `remaining` is how long the platform lets this invocation live.
    """

    def __init__(self, services: Services, *, worker_id: str, keep_alive: KeepAlive = nullcontext) -> None:
        self._services = services
        self._worker_id = worker_id
        self.keep_alive = keep_alive

    def execute(self, handover: Handover, work: Work, *, remaining: timedelta | None = None) -> Execution:
        attempt = self.begin(handover, remaining=remaining)
        if isinstance(attempt, Execution):
            return attempt
        try:
            return self._run(attempt, work)
        except LeaseLostError as lost:
            self.log_lost(attempt.job.job_id, attempt.job.job_type, lost.transition)
            return Execution.LEASE_LOST

    # --- from the hand-over to the start

    def begin(self, handover: Handover, *, remaining: timedelta | None = None) -> Attempt | Execution:
        """Start a hand-over, or say why it does not start."""
        job_type = self._services.deployment.settings_of(handover.job_type)
        if self.turn_back(handover, job_type):
            return Execution.RELEASED
        time_left = remaining or job_type.timeout
        try:
            job = self._services.store.jobs.apply_and_read(self.start_of(handover, job_type, time_left))
        except TransitionRefused as refused:
            return self.not_started(handover, refused.current)
        return self.started(job, job_type, time_left)

    def turn_back(self, handover: Handover, job_type: JobType) -> bool:
        """Release a job whose type may not run now; True if so."""
        switches, joining = self._services.deployment.switches(), self._joining(job_type)
        if not (switches.halt or switches.pauses or switches.reservations or joining):
            return False
        from leasehold.kernel.release import turn_back

        return turn_back(handover, switches, joining, self._services)

    def start_of(self, handover: Handover, job_type: JobType, time_left: timedelta) -> Write:
        """Swap the token for a nonce of this invocation: of two copies of a hand-over, one finds the token."""
        now = self._services.clock.now()
        nonce = make_nonce(self._services.random_source, self._worker_id)
        values: dict[str, object] = {"locked_by": nonce, "started_at": now}
        # A lease must outlast what it protects; a hand-over that waited long in a queue gets a longer one.
        needed_until = now + (job_type.lease_length / 2 if job_type.heartbeat else time_left + CLOCK_TOLERANCE)
        if handover.lease.at < needed_until:
            until = now + job_type.lease_length if job_type.heartbeat else needed_until
            values |= {"lock_expires_at": until, "due_key": handover.lease._replace(at=until)}
        seen = {"locked_by": handover.token, "now": now}
        return Write(job_id=handover.job_id, transition=START, seen=seen, values=values)

    def started(self, job: Job, job_type: JobType, time_left: timedelta) -> Attempt:
        """The start is written: it is logged, and its worker owns the job."""
        assert job.started_at is not None
        self._log(job, Event.JOB_STARTED)
        # A member of a group waits for its turn: that is no lateness.
        if job.attempts == 1 and job.last_attempt_at is None and job.group_id is None:
            late = (job.started_at - job.scheduled_for).total_seconds()
            self._services.telemetry.measure(LATENESS, max(late, 0.0), job_type=job.job_type)
        return Attempt(job, job_type, self._services, deadline=self._services.clock.now() + time_left)

    def not_started(self, handover: Handover, current: Job | None) -> Execution:
        """The start was refused: the job is not what was handed over, or it is too late for it."""
        from leasehold.kernel.release import expire_if_too_late

        if expire_if_too_late(current, self._services):
            for hooks in self._joining(self._services.deployment.settings_of(handover.job_type)):
                hooks.never_started(handover, self._services)
            return Execution.EXPIRED
        self.log_lost(handover.job_id, handover.job_type, START.name)
        return Execution.NOT_STARTED

    def _joining(self, job_type: JobType) -> list[Hooks]:
        """Features that may stop a start of this type's jobs."""
        joining = (each for each in self._services.features if each.joins_starts and each.type_field)
        return [each.load() for each in joining if getattr(job_type, each.type_field or "") is not None]

    # --- from the handler's work to the end

    def _run(self, attempt: Attempt, work: Work) -> Execution:
        try:
            with self.keep_alive(attempt) if attempt.job_type.heartbeat else nullcontext():
                result = work(attempt)
            result_text = None if result is None or attempt.has_ended else encode_result(result)
        except (Exception, SystemExit) as error:
            return features.end_as_raised(attempt, error, self)
        if not attempt.has_ended:
            attempt.complete(result_text)
        return self.completed(attempt)

    def completed(self, attempt: Attempt) -> Execution:
        self.log_end(attempt, Event.JOB_COMPLETED, "success")
        return Execution.COMPLETED

    def log_end(self, attempt: Attempt, event: Event, status: str | None = None, **fields: object) -> None:
        job = attempt.job
        assert job.started_at is not None
        seconds = (self._services.clock.now() - job.started_at).total_seconds()
        claimed_at = job.locked_at and to_text(job.locked_at)
        self._log(job, event, duration_ms=round(seconds * 1000), claimed_at=claimed_at, **fields)
        self._services.telemetry.measure(PROCESSING, seconds, job_type=job.job_type)
        if status is not None:
            self._services.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=status)

    def _log(self, job: Job, event: Event, **fields: object) -> None:
        fields |= {"attempt": job.attempts, "worker_id": job.locked_by, "trace": job.trace}
        self._services.telemetry.event(event, job_id=job.job_id, job_type=job.job_type, **fields)

    def log_lost(self, job_id: str, job_type: str, transition: str) -> None:
        self._services.telemetry.event(
            Event.LEASE_LOST, job_id=job_id, job_type=job_type, worker_id=self._worker_id, transition=transition
        )
        self._services.telemetry.measure(LEASES_LOST, 1, job_type=job_type)


class Attempt:
    """Owns a started job: it is locked by a nonce that was made in this invocation. `job` is as it was last seen.

    This is what a run that completes needs. It is kept alive by runtime/lease.py; whatever else a handler can say, by
    raising, becomes an end in runtime/signals.py.
    """

    def __init__(self, job: Job, job_type: JobType, services: Services, *, deadline: datetime) -> None:
        self.job = job
        self.job_type = job_type
        self.deadline = deadline
        self.artifacts: list[str] = []
        self.has_ended = False
        self.services = services
        self.lease_until = job.lock_expires_at or deadline
        self.cancel_read_at: datetime | None = None

    def read_payload(self) -> Json:
        """What the job is to do; PayloadMissingError if it stood apart and is gone."""
        form = self.job.stored_payload
        if isinstance(form, str) and not form.startswith(OFFLOADED):  # nearly all
            return decode(form)
        # Not by way of `self.job`, which the heartbeat may replace meanwhile.
        now = self.services.clock.now()
        half = now + (self.deadline - now) / 2  # the other half is for the end, which has to be written either way
        job = self._with_retries(lambda: self.services.store.payloads.read(self.job), until=half)
        self.job = job
        return job.payload

    def complete(self, result_text: str | None, **how: Any) -> None:
        """End as completed, together with the handler's own writes if it has any."""
        self.finish(self.completion(result_text, **how))

    def completion(self, result_text: str | None, **how: Any) -> Ending:
        """The end of a completed run, not yet written: a batch writes many by one request."""
        values: dict[str, object] = {} if result_text is None else {"result": result_text}
        if self.artifacts:
            values["artifacts"] = tuple(self.artifacts)
        return self.ending(COMPLETE, **{"outcome": Outcome.COMPLETED, "failed": False, "values": values, **how})

    def finish(self, ending: Ending) -> None:
        """Write an end that only the loss of the lease can keep from being written."""
        try:
            self.commit(ending)
        except TransitionRefused as refused:
            raise self.lost(ending.write.transition, refused.current) from None

    def see(self, current: Job) -> None:
        """The job as it is now. Its payload cannot have changed while it runs, and is not read again."""
        self.job = replace(current, read_payload=self.job.read_payload)

    def ending(self, step: Transition, **how: Any) -> Ending:
        """An end of this run, not yet written; see `Ending` for what it says."""
        return self._with_retries(
            lambda: Ending(
                self.job, step, self.services, known_type=self.job_type, artifacts=tuple(self.artifacts), **how
            )
        )

    def commit(self, ending: Ending) -> None:
        """Write it; TransitionRefused if the lease is lost, or a cancel was requested."""
        self._with_retries(ending.commit)
        self.ended(ending)

    def lost(self, transition: Transition, current: Job | None) -> LeaseLostError:
        return LeaseLostError(self.job.job_id, transition.name, current.status if current else None)

    def ended(self, ending: Ending) -> None:
        """It is written, here or by a batch."""
        self.has_ended = True
        ending.after()

    def _with_retries[T](self, call: Callable[[], T], *, until: datetime | None = None) -> T:
        """Try until the platform's deadline: giving up would use an attempt up, or do work again that is done."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return call()
            except StoreUnavailableError:
                if self.services.clock.now() + pause >= (until or self.deadline):
                    raise
            self.services.clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
