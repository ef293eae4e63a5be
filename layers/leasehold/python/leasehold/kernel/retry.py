"""When to try again. Time and chance are parameters, never read here."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, assert_never

from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

DEFAULT_MAX_ATTEMPTS = 5
MAX_DELAY = timedelta(days=366)
# Of a policy that a job brings along: it is written into the job.
MAX_DELAYS = 50


@dataclass(frozen=True, slots=True)
class Exponential:
    """`base * 2 ** (attempts - 1)`, at most `cap`, plus up to `jitter` of itself so that a herd spreads out."""

    base: timedelta = timedelta(seconds=60)
    cap: timedelta = timedelta(hours=6)
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if self.base <= timedelta(0) or self.cap < self.base:
            given = self.base, self.cap
            raise InvalidOptionError(given, "exponential retry needs 0 < base <= cap", "Correct base or cap.")
        if not 0 <= self.jitter <= 1:
            raise InvalidOptionError(self.jitter, "jitter is a share from 0 to 1", "Use 0.1 for up to ten per cent.")
        _refuse_too_long(self.cap)


@dataclass(frozen=True, slots=True)
class Fixed:
    delay: timedelta

    def __post_init__(self) -> None:
        if self.delay < timedelta(0):
            raise InvalidOptionError(self.delay, "a retry delay is not negative", "Use 0 or more.")
        _refuse_too_long(self.delay)


@dataclass(frozen=True, slots=True)
class Delays:
    """One delay per failed attempt; the last one repeats."""

    delays: tuple[timedelta, ...]

    def __post_init__(self) -> None:
        if not self.delays or min(self.delays) < timedelta(0):
            raise InvalidOptionError(self.delays, "a table of delays has at least one, none negative", "Correct it.")
        _refuse_too_long(max(self.delays))


type RetryPolicy = Exponential | Fixed | Delays


def parse_retry(value: object) -> RetryPolicy:
    """A job's own policy, as it will be read back from the job."""
    match value:
        case Exponential(base, cap, jitter):
            return Exponential(base, cap, float(jitter))
        case Fixed():
            return value
        case Delays(delays) if len(delays) <= MAX_DELAYS:
            return Delays(tuple(delays))
        case Delays(delays):
            raise InvalidOptionError(len(delays), f"a job's own table has at most {MAX_DELAYS} delays", "Use fewer.")
        case _:
            problem = "a retry policy is Exponential, Fixed or Delays"
            raise InvalidOptionError(value, problem, "Use Fixed(timedelta(seconds=30)).")


def retry_delay(policy: RetryPolicy, attempts: int, random_source: float) -> timedelta:
    """How long to wait after the `attempts`-th attempt failed; `chance` is in [0, 1).

    >>> [retry_delay(Exponential(jitter=0), n, 0.0).total_seconds() for n in (1, 2, 3)]
    [60.0, 120.0, 240.0]
    """
    match policy:
        case Exponential(base, cap, jitter):
            # Compared as numbers: the product of a late attempt is more than a timedelta can hold.
            doublings = min(attempts - 1, 64)
            delay = base * 2**doublings if 2**doublings < cap / base else cap
            return delay + delay * (jitter * random_source)
        case Fixed(delay):
            return delay
        case Delays(delays):
            return delays[min(attempts, len(delays)) - 1]
        case _:
            assert_never(policy)


def hand_over_backoff(dispatches: int, random_source: float) -> timedelta:
    """How long a job waits after its `dispatches`-th hand-over in a row reached no handler."""
    return retry_delay(Exponential(timedelta(seconds=1), timedelta(minutes=5), 0.5), max(dispatches, 1), random_source)


def _refuse_too_long(delay: timedelta) -> None:
    """A failure is always recorded: its next try must be a time that a due key can hold."""
    if delay > MAX_DELAY:
        raise InvalidOptionError(delay, f"a retry delay is at most {MAX_DELAY.days} days", "Use a shorter one.")


def retry_text(policy: RetryPolicy) -> str:
    return json.dumps(retry_document(policy), separators=(",", ":"))


def retry_of_text(text: str) -> RetryPolicy:
    return retry_of(json.loads(text))


def retry_document(policy: RetryPolicy) -> dict[str, object]:
    match policy:
        case Exponential(base, cap, jitter):
            return {"exponential": [base.total_seconds(), cap.total_seconds(), jitter]}
        case Fixed(delay):
            return {"fixed": delay.total_seconds()}
        case Delays(delays):
            return {"delays": [delay.total_seconds() for delay in delays]}
        case _:
            assert_never(policy)


def retry_of(document: dict[str, Any]) -> RetryPolicy:
    match document:
        case {"exponential": [base, cap, jitter]}:
            return Exponential(timedelta(seconds=base), timedelta(seconds=cap), jitter)
        case {"fixed": delay}:
            return Fixed(timedelta(seconds=delay))
        case {"delays": delays}:
            return Delays(tuple(timedelta(seconds=delay) for delay in delays))
        case _:
            raise ValueError(f"unknown retry policy {document!r}")
