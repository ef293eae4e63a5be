"""End: how a job is taken from its owner, or from its wait. Only this file writes an end state, and a dead letter.

An `Ending` is decided once, written until the table has taken it, and tidied up behind. Features join in by their hooks
(hooks.py). A job that concerns none of them ends by one conditional write.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, assert_never, cast

from leasehold.kernel.dead_letter import dead_letter_for, dead_letter_insertion, log_dead
from leasehold.kernel.errors import StoreError
from leasehold.kernel.hooks import owed
from leasehold.kernel.job import MAX_ERROR_BYTES, Outcome, Run, appended, next_number, run_error
from leasehold.kernel.jobs import Write, ended_lane, transition
from leasehold.kernel.keys import Due, to_text
from leasehold.kernel.payload import shortened
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import request_token
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass
from leasehold.telemetry import COMPLETED, Event

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, ForeignItem
    from leasehold.kernel.transitions import Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run failed. `error` may be long; each place that keeps it shortens it to its own bound."""

    error: str
    code: str
    is_retryable: bool = True


@dataclass()
class Ending:
    """A job that its owner, or its wait, has lost: it ends, or goes back to wait. Features are told of it by this.

    It is decided once: however often it has to be written, it is the same write with the same token.

    job: as its writer saw it; what the step asks of that, such as its owner, must still hold.
    outcome, worker, artifacts: of the run that ends with it; None for a job that no run has come to.
    reason: why it was cancelled or skipped.
    values: where it waits, if it goes back; its result.
    failed: whether its run says that its type works badly; None for one that says nothing about that.
    is_orphan: nobody heard of its worker again, which may still be at work.
    foreign: the handler's own writes, which commit with it.
    done: features whose share of this end the caller commits in the same transaction.
    known_type: what the caller knows of its type; else it is looked up.
    """

    job: Job
    step: Transition
    services: Services
    outcome: Outcome | None = None
    failure: Failure | None = None
    reason: str | None = None
    worker: str | None = None
    artifacts: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)
    failed: bool | None = None
    is_orphan: bool = False
    foreign: Sequence[ForeignItem] = ()
    done: Collection[str] = ()
    known_type: JobType | None = None
    # That ends with it.
    run: Run | None = field(init=False, default=None)
    _token: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        job, step, failure, services = self.job, self.step, self.failure, self.services
        self.at = now = services.clock.now()
        written = dict(self.values)
        if self.outcome is not None:
            said = {"reason": self.reason and run_error(self.reason), "artifacts": self.artifacts}
            self.run = run_of(job, now, self.outcome, failure, worker=self.worker or job.locked_by, **said)
            written["runs"] = appended(job.runs, self.run)
        if failure is not None:
            written |= {"last_error": shortened(failure.error, MAX_ERROR_BYTES), "last_error_code": failure.code}
        if "cancel_reason" in step.sets:
            written["cancel_reason"] = self.reason
        # An ended job's last attempt is the one that `started_at` names: only what would be stale is written over.
        if job.started_at is not None and ("last_attempt_at" in step.sets or job.last_attempt_at is not None):
            written["last_attempt_at"] = job.started_at
        self.job_type = self.known_type or services.deployment.settings_of(job.job_type)
        # Features that may have something to say about it.
        self._concerned = [
            (each.name, each.load())
            for each in services.features
            if (each.job_field is not None and getattr(job, each.job_field) is not None)
            or (each.type_field is not None and getattr(self.job_type, each.type_field) is not None)
            or (each.concerns is not None and each.concerns(job, self.job_type))
        ]
        joinings = {name: hooks.with_end(self, services) for name, hooks in self._concerned if name not in self.done}
        # What an earlier run owes still, to a feature that has no say in this end, stays owed.
        kept = [each for each in job.owed if each.partition(":")[0] not in joinings]
        self.owed = (*kept, *(owed(name, each.note) for name, each in joinings.items() if each.is_owed))
        self.joined: list[Change] = [change for each in joinings.values() for change in each.changes]
        if step.target is JobStatus.DEAD_LETTER:
            assert failure is not None
            runs = cast("tuple[Run, ...]", written.get("runs", job.runs))
            shown = job if job.plain_payload is not None else services.store.payloads.shown(job)
            self.joined.append(dead_letter_insertion(dead_letter_for(shown, failure, now, runs)))
        if step.target is not None and step.target.has_ended:
            written |= self._end_values(step.target, now)
        elif self.owed != job.owed and step.target is JobStatus.FAILED:
            due = cast("Due", written["due_key"]).owing_since(now)
            written |= {"due_lane": job.run_lane, "due_key": due, "wake": True, "owed": self.owed}
        seen = {"due_key": job.due, "locked_by": job.locked_by, "now": now}
        self.write = Write(job_id=job.job_id, transition=step, seen=seen, values=written)

    @property
    def is_plain(self) -> bool:
        """Whether the write of the job itself is all."""
        return not (self.joined or self.owed or self.foreign)

    @property
    def changes(self) -> list[Change]:
        """All that is written, for whoever commits it together with changes of its own."""
        return [transition(self.write), *self.joined]

    def commit(self) -> None:
        """Write it; TransitionRefused if the job is not what the writer saw."""
        jobs = self.services.store.jobs
        if self.joined or self.foreign:
            if self._token is None:
                # The writer's own: with a shared one, two at the same millisecond would both be told that they did it.
                stamp = f"{self.services.random_source.bits(64):x}"
                self._token = request_token(self.job.job_id, self.step.name, stamp)
            jobs.apply_with(self.write, self.joined, token=self._token, foreign=self.foreign)
        else:
            jobs.apply(self.write)

    def conclude(self) -> bool:
        """Write it, log it and tidy up; False if the job is not what the writer saw."""
        try:
            self.commit()
        except TransitionRefused:
            return False
        self.concluded()
        return True

    def concluded(self) -> None:
        """Log an end that stands, and tidy up behind it. Whose handler ended it logs that with its run."""
        match self.step.target:
            case JobStatus.CANCELLED:
                self._log(Event.JOB_CANCELLED, "cancelled", reason=self.reason or self.job.cancel_reason)
            case JobStatus.COMPLETED:
                self._log(Event.JOB_COMPLETED, "skipped", reason=self.reason, status="skipped")
            case JobStatus.DEAD_LETTER:
                assert self.failure is not None
                log_dead(self.job, self.failure, self.services)
        self.after()

    def _log(self, event: Event, counted_as: str, **fields: object) -> None:
        job, telemetry = self.job, self.services.telemetry
        telemetry.event(event, job_id=job.job_id, job_type=job.job_type, **fields)
        telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=counted_as)

    def after(self) -> None:
        """Tidy up behind an end that stands. All of it may be lost in a crash without harm."""
        if self.job.dedup is not None:
            from leasehold.kernel.dedup import retire_dedup_record

            retire_dedup_record(self.job, self.write.values.get("expires_at"), self.services)
        for name, hooks in self._concerned:
            try:
                hooks.after(self, self.services)
            except StoreError as error:
                self.services.telemetry.event(Event.TIDY_FAILED, job_id=self.job.job_id, what=name, error=str(error))

    def _end_values(self, status: JobStatus, now: datetime) -> dict[str, object]:
        """An ended job goes after its retention. While it owes something it stays due, and must not expire."""
        values: dict[str, object] = {"completed_at": now}
        if self.services.deployment.registry().ended_index:
            values["ended_lane"] = ended_lane(status, self.job.job_type)
            values["ended_key"] = f"{to_text(now)}#{self.job.job_id}"
        if self.owed:
            from leasehold.kernel.next_attempt import due_values

            return values | due_values(self.job, now, now) | {"wake": True, "owed": self.owed}
        return values | expiry_values(self.job, status, now, self.job_type)


def expiry_values(job: Job, status: JobStatus, ended_at: datetime, job_type: JobType) -> dict[str, object]:
    """How long a job is kept that ended like this and owes nothing (any more)."""
    match status:
        case JobStatus.COMPLETED:
            keep_for = job_type.retention.completed
        case JobStatus.CANCELLED:
            keep_for = job_type.retention.cancelled
        case JobStatus.DEAD_LETTER:
            return {}  # until somebody resolves it
        case JobStatus.PENDING | JobStatus.IN_PROGRESS | JobStatus.FAILED:
            raise ValueError(f"{status} is no end state")
        case _:
            assert_never(status)
    # A dedup key is held by its job until the window is over, so the job must not go before that.
    return {"expires_at": int(max(ended_at + keep_for, job.dedup_until or ended_at).timestamp())}


def is_last_attempt(job: Job, failure: Failure) -> bool:
    return not failure.is_retryable or job.attempts >= job.max_attempts


def run_of(job: Job, now: datetime, outcome: Outcome, failure: Failure | None = None, **said: Any) -> Run:
    """The run that ends now, for the job's history. One that is skipped never started."""
    return Run(
        number=next_number(job.runs),
        started_at=job.started_at or now,
        ended_at=now,
        outcome=outcome,
        error=run_error(failure.error) if failure else None,
        error_code=failure.code if failure else None,
        **{"worker": job.locked_by, **said},
    )
