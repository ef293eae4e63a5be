"""What the kernel needs from outside: time, random numbers, a way to reach handlers, and who acts."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.times import instant
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from datetime import timedelta

    from leasehold.kernel.keys import Due, JobId


class Clock(Protocol):
    def now(self) -> datetime: ...

    def sleep(self, duration: timedelta) -> None: ...


class RandomSource(Protocol):
    def bits(self, count: int) -> int:
        """A whole number of so many random bits."""

    def share(self) -> float:
        """A number in [0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """`lease` is the due entry that the claim wrote: its time is when the lease expires."""

    job_id: JobId
    job_type: str
    token: str
    lease: Due


class Dispatcher(Protocol):
    def dispatch(self, handover: Handover, function: str | None) -> None:
        """Hand a claimed job to its handler without waiting for it; raise DispatchError if that fails."""


class Identity(Protocol):
    def actor(self) -> str:
        """Who acts, as it was authenticated: never what a caller says of itself."""


class KnownIdentity:
    """For those whom somebody else has authenticated: the system itself, a request's caller, a test."""

    def __init__(self, name: str) -> None:
        self._name = name

    def actor(self) -> str:
        return self._name


class SystemClock:
    def now(self) -> datetime:
        return instant(datetime.now(UTC))

    def sleep(self, duration: timedelta) -> None:
        time.sleep(duration.total_seconds())


class SystemRandomSource:
    """Asks the operating system each time: state made at import would be cloned by SnapStart."""

    def bits(self, count: int) -> int:
        return secrets.randbits(count)

    def share(self) -> float:
        return secrets.randbits(53) / (1 << 53)
