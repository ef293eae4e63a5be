"""A circuit breaker: a job type that fails too often is paused by itself, and one job at a time tries whether it works.

The circuit of a type is closed while its jobs run, and open while they are held back. What may run in between is a
probe: one ordinary job, whose end decides. Runs are counted in windows that follow each other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.type_options import whole_number
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.keys import JobId

# Who paused the type, as operators see it.
CIRCUIT_BREAKER = "circuit-breaker"

MOST_RUNS = 1_000_000
LONGEST_WINDOW = timedelta(days=1)
# Workers read switches through a cache of 5 s: whoever starts a probe must have seen that the circuit is open.
SHORTEST_WAIT = timedelta(seconds=10)
LONGEST_WAIT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Tally:
    """How the runs ended that were counted since a window began."""

    since: datetime
    runs: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """An open circuit: since when and why, and who may try whether the type works again.

    probe_at: when a job may be let through, whichever is there first.
    wait: how long nobody was let through before that; each failed probe doubles it.
    probe: the job that was let through and has not ended yet.
    """

    opened_at: datetime
    reason: str
    probe_at: datetime
    wait: timedelta
    probe: JobId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """When to stop a type by itself, and when to try it again.

    failure_rate: the share of failed runs that opens the circuit.
    min_runs: how many runs a window must have seen before its rate says anything.
    window: how long runs are counted together; then the count starts anew.
    probe_after: how long an open circuit waits before it lets one job through.
    longest_pause: the wait doubles with each probe that fails, up to this.
    """

    failure_rate: float = 0.5
    min_runs: int = 20
    window: timedelta = timedelta(minutes=5)
    probe_after: timedelta = timedelta(minutes=1)
    longest_pause: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        check_failure_rate(self.failure_rate)
        whole_number(self.min_runs, "min_runs", MOST_RUNS, "Use 20.")
        if not timedelta(seconds=1) <= self.window <= LONGEST_WINDOW:
            raise InvalidOptionError(self.window, "runs are counted over 1 second to 1 day", "Use 5 minutes.")
        if not SHORTEST_WAIT <= self.probe_after <= LONGEST_WAIT:
            raise InvalidOptionError(self.probe_after, "a probe comes after 10 seconds to 1 day", "Use 1 minute.")
        if not self.probe_after <= self.longest_pause <= LONGEST_WAIT:
            problem = "longest_pause is from probe_after to 1 day"
            raise InvalidOptionError(self.longest_pause, problem, "Leave it out, or use a longer one.")

    def opens_at(self, tally: Tally) -> bool:
        """
        >>> from leasehold.kernel.keys import EPOCH
        >>> CircuitBreaker().opens_at(Tally(EPOCH, runs=19, failures=19))
        False
        >>> CircuitBreaker().opens_at(Tally(EPOCH, runs=20, failures=10))
        True
        """
        # A quotient, not a product: 3 of 30 is exactly the 0.1 that somebody wrote down, and 0.1 * 30 is more than 3.
        return tally.runs >= self.min_runs and tally.failures / tally.runs >= self.failure_rate

    def longer(self, wait: timedelta) -> timedelta:
        """How long to wait after a probe that failed."""
        return min(2 * wait, self.longest_pause)


def check_failure_rate(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InvalidOptionError(value, "a failure rate is above 0 and at most 1", "Use 0.5 for every other run.")
