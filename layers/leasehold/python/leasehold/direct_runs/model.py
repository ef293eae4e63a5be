"""A direct run: a handler called at once and waited for, without a job, while the jobs of its type wait."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from leasehold.kernel.errors import InvalidInputError, LeaseholdError, RefusedError, cut, shown
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.records import Codec
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.table import Record


# Lambda may take this long to make a new container, before the function's own time begins.
COLD_START = timedelta(seconds=10)

_RUN_ID = "direct_run"


class RequestKeyReusedError(RefusedError, code="idempotency_key_reused"):
    def __init__(self, key: str) -> None:
        super().__init__(
            f"the idempotency key {shown(key)} was used within the last day for another request. Nothing was done. "
            "Use a new key for a new request, and the same key only to repeat the same one."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A type's next slot is for a direct run, as long as it lasts: no job of the type starts before it is over."""

    run_id: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectRun:
    """What the caller sends to the handler. It has ended by `until`, since after that jobs of the type run again."""

    run_id: str
    job_type: str
    payload_text: str
    until: datetime
    trace: str | None = None

    def to_event(self) -> dict[str, str]:
        return cast("dict[str, str]", _EVENT.record(self))

    @staticmethod
    def is_in(event: Mapping[str, object]) -> bool:
        """Whether a handler was called directly, and not handed a job."""
        return _RUN_ID in event

    @classmethod
    def from_event(cls, event: Mapping[str, object]) -> DirectRun:
        try:
            run = cls(**_EVENT.values(cast("Record", event)))
            parse_job_type(run.job_type)
            return run
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                event, f"this is not a direct run ({error})", "See events/direct_run.json for one."
            ) from None


_EVENT = Codec(
    DirectRun,
    {},
    stored_as={"run_id": _RUN_ID, "payload_text": "payload"},
    always={"run_id", "job_type", "payload_text", "until"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectAnswer:
    """How a direct run went: a result, which may be nothing, or an error with its code."""

    result_text: str | None = None
    error: str | None = None
    error_code: str | None = None

    def to_document(self) -> dict[str, str | None]:
        if self.error is not None:
            return {"error": self.error, "error_code": self.error_code}
        return {"result": self.result_text}

    @classmethod
    def from_document(cls, document: object) -> DirectAnswer:
        match document:
            case {"result": str() | None as result}:
                return cls(result_text=result)
            case {"error": str() as error, "error_code": str() as code}:
                return cls(error=error, error_code=code)
            case _:
                text = f"the function gave no answer to a direct run: {shown(document)}. Deploy it again."
                return cls(error=text, error_code="invalid_answer")


def over_by(give_up_at: datetime, job_type: JobType) -> datetime:
    """When a direct run is over for certain that waits for its turn until `give_up_at`."""
    return give_up_at + COLD_START + job_type.timeout + CLOCK_TOLERANCE


# Whoever is to do it begins within this time, or not at all.
BEGINS_WITHIN = timedelta(seconds=60)
KEPT_FOR = timedelta(hours=24)


class DirectState(StrEnum):
    ACCEPTED = "accepted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    # Never written: what is seen once nobody can be at it any more and nothing was said.
    LOST = "lost"

    @property
    def has_ended(self) -> bool:
        return self in {DirectState.COMPLETED, DirectState.FAILED, DirectState.LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectRequest:
    """until: when it is over for certain. taken_by: the one invocation that does it. payload_text: gone at its end.

    started_at: when its turn had come and the handler was called; noted at its end.
    """

    run_id: str
    job_type: str
    fingerprint: str
    by: str
    asked_at: datetime
    timeout: timedelta
    payload_text: str | None = None
    state: DirectState = DirectState.ACCEPTED
    taken_by: str | None = None
    started_at: datetime | None = None
    until: datetime | None = None
    ended_at: datetime | None = None
    result_text: str | None = None
    error: str | None = None
    error_code: str | None = None

    @property
    def begin_by(self) -> datetime:
        return self.asked_at + BEGINS_WITHIN

    @property
    def expires_at(self) -> datetime:
        return self.asked_at + KEPT_FOR

    def state_at(self, now: datetime) -> DirectState:
        """What can be said of it now: one that nobody begins, or whose end nobody tells, is lost."""
        if self.state is DirectState.ACCEPTED and now > self.begin_by + CLOCK_TOLERANCE:
            return DirectState.LOST
        if self.state is DirectState.RUNNING and self.until is not None and now > self.until:
            return DirectState.LOST
        return self.state


class DirectRunTimeoutError(LeaseholdError, TimeoutError, code="direct_run_timeout"):
    def __init__(self, job_type: str, timeout: timedelta, waited_for: str) -> None:
        super().__init__(
            f"the direct run of {job_type!r} waited {timeout.total_seconds():g} s for {waited_for}. Nothing ran, and "
            "nothing is reserved any more. Call again, pass a longer timeout, or enqueue a job."
        )
        self.job_type = job_type
        self.waited_for = waited_for


class DirectRunError(LeaseholdError, code="direct_run_failed"):
    """The handler failed. There is no job that could be tried again: call again, or enqueue one."""

    def __init__(self, job_type: str, run_id: str, error: str, error_code: str) -> None:
        last_line = cut(error.rstrip().rpartition("\n")[2])
        super().__init__(f"the direct run {run_id} of {job_type!r} failed ({error_code}): {last_line}")
        self.job_type = job_type
        self.run_id = run_id
        self.error = error
        self.error_code = error_code


class DirectRunLostError(DirectRunError, code="direct_run_lost"):
    """No answer came. The handler may have run, may be running, or may not have been reached."""

    def __init__(self, job_type: str, run_id: str, reason: str, until: str) -> None:
        super().__init__(job_type, run_id, reason, self.code)
        self.args = (
            f"no answer came to the direct run {run_id} of {job_type!r}: {reason}. Whether it ran is not known. Jobs "
            f"of this type wait until {until}, when it is over for certain. Look for the run in the handler's log.",
        )


class JobTypePausedError(RefusedError, code="job_type_paused"):
    def __init__(self, job_type: str, by: str, at: str, reason: str) -> None:
        super().__init__(
            f"job type {job_type!r} is paused since {at} by {by}: {reason}. "
            "Enqueue a job, which waits for the end of the pause, or have an operator unpause it."
        )
        self.job_type = job_type
        self.by = by
        self.at = at
        self.reason = reason
