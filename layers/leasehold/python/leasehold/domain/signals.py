"""What a handler may raise to say how its job goes on. None of them is a failure."""

from __future__ import annotations

from datetime import timedelta

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.retry import MAX_DELAY


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
