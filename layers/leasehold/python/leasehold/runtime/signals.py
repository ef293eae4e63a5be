"""What a handler says by raising: its job waits, ends or is skipped, or its run has failed. The run ends by it."""

from __future__ import annotations

import traceback
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.dead_letter import log_dead
from leasehold.kernel.end import Failure, is_last_attempt
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError, LeaseLostError, NonRetryableError
from leasehold.kernel.execute import Execution
from leasehold.kernel.job import MAX_CODE_BYTES, MAX_REASON_BYTES, Outcome
from leasehold.kernel.next_attempt import retry_values, waiting_values
from leasehold.kernel.payload import shortened
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.retry import MAX_DELAY
from leasehold.kernel.transitions import ABORT, DEAD_LETTER, FAIL, SNOOZE
from leasehold.telemetry import Event
from leasehold.telemetry.redaction import without_payload

if TYPE_CHECKING:
    from types import TracebackType

    from leasehold.kernel.end import Ending
    from leasehold.kernel.execute import Attempt, Executor


class Signal(Exception):  # noqa: N818  these are not errors
    """Root of the signals."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = str(reason)


class Snooze(Signal):
    """Not now: run again after a while. The attempt is given back.

    >>> Snooze(30).delay
    datetime.timedelta(seconds=30)
    """

    def __init__(self, seconds: float | timedelta) -> None:
        delay = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        if not timedelta(0) < delay <= MAX_DELAY:
            raise InvalidOptionError(
                seconds,
                f"a snooze is longer than nothing and at most {MAX_DELAY.days} days",
                "Use a positive number of seconds.",
            )
        super().__init__(f"snoozed for {delay.total_seconds():g} s")
        self.delay = delay


class Cancel(Signal):
    """Not any more: the job ends as cancelled, with this reason."""


class GiveUp(Signal):
    """It failed, and is not tried again, but nobody needs to look after it: the job ends as cancelled."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Skip(Signal):
    """Nothing to do: the job ends as completed, its run's outcome is SKIPPED."""


def end_as_raised(attempt: Attempt, error: BaseException, executor: Executor) -> Execution:
    """End an attempt as what its handler raised says; LeaseLostError if it is not this worker's any more."""
    if attempt.has_ended:
        # It completed by transact_complete and then raised: the end stands, the error is only logged.
        said = without_payload(str(error), attempt.job)
        executor.log_end(attempt, Event.JOB_COMPLETED, "success", error=said)
        return Execution.COMPLETED
    match error:
        case LeaseLostError():
            raise error
        case Snooze(delay=delay):
            if not snooze(attempt, delay):
                return _cancelled(attempt, executor)
            executor.log_end(attempt, Event.JOB_SNOOZED, seconds=delay.total_seconds())
            return Execution.SNOOZED
        case Skip(reason=reason):
            attempt.complete(None, outcome=Outcome.SKIPPED, reason=reason, failed=None)
            said = without_payload(reason, attempt.job)
            executor.log_end(attempt, Event.JOB_COMPLETED, "skipped", reason=said)
            return Execution.SKIPPED
        case Cancel(reason=reason) | GiveUp(reason=reason):
            abort(attempt, reason, failure_of(error.error) if isinstance(error, GiveUp) else None)
            return _cancelled(attempt, executor, reason=reason)
        case _:
            return _failed(attempt, error, executor)


def snooze(attempt: Attempt, delay: timedelta) -> bool:
    """Give the attempt back and wait; False if a requested cancel ended the job instead."""
    now = attempt.services.clock.now()
    values = waiting_values(attempt.job, now + delay, now, attempt=attempt.job.attempts)
    return _unless_cancelled(attempt, attempt.ending(SNOOZE, values=values))


def abort(attempt: Attempt, reason: str, failure: Failure | None = None) -> None:
    """End as cancelled: the handler said so, or it failed after a cancel was requested."""
    outcome = Outcome.SKIPPED if failure is None else Outcome.FAILED
    said = shortened(reason, MAX_REASON_BYTES)
    attempt.finish(attempt.ending(ABORT, outcome=outcome, failure=failure, reason=said))


def fail(attempt: Attempt, failure: Failure) -> Execution:
    """Record the failure; returns how the job goes on: it failed, is a dead letter, or was cancelled."""
    is_last = is_last_attempt(attempt.job, failure)
    ending = attempt.ending(
        DEAD_LETTER if is_last else FAIL,
        outcome=Outcome.FAILED,
        failure=failure,
        values={} if is_last else retry_values(attempt.job, attempt.job_type, attempt.services),
        failed=True,
    )
    if not _unless_cancelled(attempt, ending, failure):
        return Execution.CANCELLED
    return Execution.DEAD_LETTERED if is_last else Execution.FAILED


def _unless_cancelled(attempt: Attempt, ending: Ending, failure: Failure | None = None) -> bool:
    """A requested cancel wins over every way back, and over a dead letter."""
    try:
        attempt.commit(ending)
    except TransitionRefused as refused:
        current = refused.current
        if current is None or current.locked_by != attempt.job.locked_by or current.cancel_requested is None:
            raise attempt.lost(ending.write.transition, current) from None
        attempt.see(current)
        abort(attempt, current.cancel_reason or "cancelled", failure)
        return False
    return True


def _failed(attempt: Attempt, error: BaseException, executor: Executor) -> Execution:
    failure = failure_of(error)
    how = fail(attempt, failure)
    if how is Execution.CANCELLED:
        return _cancelled(attempt, executor)
    will_retry = how is Execution.FAILED
    executor.log_end(
        attempt,
        Event.JOB_FAILED,
        # A job that ends here is counted once, as the dead letter that it is.
        "failed" if will_retry else None,
        error_code=failure.code,
        error=without_payload(failure.error, attempt.job)[-1000:],
        will_retry=will_retry,
    )
    if will_retry:
        from leasehold.features import report_failure

        report_failure(attempt.job, failure, attempt.services)
    else:
        log_dead(attempt.job, failure, attempt.services)
    return how


def _cancelled(attempt: Attempt, executor: Executor, reason: str | None = None) -> Execution:
    said = reason and without_payload(reason, attempt.job)
    executor.log_end(attempt, Event.JOB_CANCELLED, "cancelled", reason=said or attempt.job.cancel_reason)
    return Execution.CANCELLED


def failure_of(error: BaseException) -> Failure:
    """What a raised error says about the run. A refused value of the handler's own will be refused again."""
    code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
    text = "".join(traceback.format_exception(type(error), error, _from_the_handler(error.__traceback__))).rstrip()
    permanent = isinstance(error, NonRetryableError) or (
        isinstance(error, LeaseholdError) and isinstance(error, ValueError)
    )
    return Failure(error=text, code=shortened(str(code), MAX_CODE_BYTES), is_retryable=not permanent)


def _from_the_handler(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that its reader can act on: what lies below our own frames."""
    frame = trace
    while frame is not None and frame.tb_frame.f_globals.get("__name__", "").startswith("leasehold."):
        frame = frame.tb_next
    return frame or trace
