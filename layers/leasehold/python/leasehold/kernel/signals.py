"""What a handler says by raising: that its job waits, ends or is skipped, or why its run failed."""

from __future__ import annotations

import traceback
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.end import Failure
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError, NonRetryableError
from leasehold.kernel.job import MAX_CODE_BYTES
from leasehold.kernel.payload import shortened
from leasehold.kernel.retry import MAX_DELAY

if TYPE_CHECKING:
    from types import TracebackType


class Signal(Exception):  # noqa: N818  these are not errors
    """Root of the signals."""


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

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = str(reason)


class GiveUp(Signal):
    """It failed, and is not tried again, but nobody needs to look after it: the job ends as cancelled."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Skip(Signal):
    """Nothing to do: the job ends as completed, its run's outcome is SKIPPED."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = str(reason)


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
