"""A circuit breaker: a job type that fails too often is paused by itself, and one job at a time tries whether it works.

The circuit of a type is closed while its jobs run, and open while they are held back. What may run in between is a
probe: one ordinary job, whose end decides. Runs are counted in windows that follow each other.
"""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job import Outcome
from leasehold.kernel.keys import Priority
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Run
    from leasehold.kernel.keys import JobId

SMALLEST_BATCH, LARGEST_BATCH = 2, 100
LONGEST_BATCH_WAIT = timedelta(minutes=5)
# How far apart the clocks of two machines may be before only fencing protects a job.
CLOCK_TOLERANCE = timedelta(seconds=5)
MAX_ATTEMPTS = 1000


class OnFull(StrEnum):
    """What becomes of a new job that finds a limit of its type full. One that has run before always waits."""

    WAIT = "wait"
    # It ends as completed, with a run whose outcome is SKIPPED.
    SKIP = "skip"
    # It ends as cancelled, with that reason.
    CANCEL_NEW = "cancel_new"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in any stretch of time as long as `per`."""

    count: int
    per: timedelta

    def __post_init__(self) -> None:
        check_seats(self.count, "a rate")
        if not timedelta(seconds=1) <= self.per <= LONGEST_PERIOD:
            raise InvalidOptionError(self.per, "a rate counts over 1 second to 1 day", 'Use e.g. "100 per minute".')


def check_seats(value: object, subject: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_SEATS:
        raise InvalidOptionError(value, f"{subject} is a whole number from 1 to {MAX_SEATS}", "Correct it.")


def check_resource(name: object) -> None:
    if not isinstance(name, str) or not _RESOURCE.fullmatch(name):
        raise InvalidOptionError(
            name, "a resource is 1 to 64 characters of a-z, 0-9 and _, starting with a letter", "Use a name like gpu."
        )


def type_scope(job_type: str) -> str:
    """Where a type's jobs wait together when they may not run now."""
    return f"type:{job_type}"


LONGEST_PERIOD = timedelta(days=1)

# One read sees a whole scope, so that who finds it full has seen every seat.
MAX_SEATS = 999
_RESOURCE = re.compile(r"[a-z][a-z0-9_]{0,63}")

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
        check_min_runs(self.min_runs)
        if not timedelta(seconds=1) <= self.window <= LONGEST_WINDOW:
            raise InvalidOptionError(self.window, "runs are counted over 1 second to 1 day", "Use 5 minutes.")
        if not SHORTEST_WAIT <= self.probe_after <= LONGEST_WAIT:
            raise InvalidOptionError(self.probe_after, "a probe comes after 10 seconds to 1 day", "Use 1 minute.")
        if not self.probe_after <= self.longest_pause <= LONGEST_WAIT:
            raise InvalidOptionError(
                self.longest_pause, "longest_pause is from probe_after to 1 day", "Leave it out, or use a longer one."
            )

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


def check_min_runs(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNS:
        raise InvalidOptionError(value, f"min_runs is a whole number from 1 to {MOST_RUNS}", "Use 20.")


def check_failure_rate(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InvalidOptionError(value, "a failure rate is above 0 and at most 1", "Use 0.5 for every other run.")


# The system's own job type: a job of it tells one receiver of one run. Users can neither deploy nor enqueue it.
DELIVERY = "webhook_delivery"
MAX_WEBHOOK_BYTES = 2048
_HIGHEST_PORT = 65_535
# No user name or password: they would be stored with every job, and shown to whoever may read one. No fragment: it is
# never sent.
_ADDRESS = re.compile(
    r"https://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:[/?][a-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?)",
    re.IGNORECASE | re.ASCII,
)
_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)


class RunEvent(StrEnum):
    """What is told of a run: how it ended. One that leaves a dead letter is told as failed, and as that."""

    COMPLETED = "job.run.completed"
    FAILED = "job.run.failed"
    SKIPPED = "job.run.skipped"
    DEAD_LETTERED = "job.run.dead_lettered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A job type's webhook.

    url: whom to tell of jobs that bring no address of their own; None for nobody.
    events: what is told of jobs of this type, whoever is told.
    """

    url: str | None = None
    events: tuple[RunEvent, ...] = tuple(RunEvent)

    def __post_init__(self) -> None:
        if self.url is not None:
            parse_webhook(self.url)


@dataclass(frozen=True, slots=True)
class Address:
    """A webhook's address in its parts; `path` is what is asked for, with its query."""

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> Address:
        """
        >>> Address.of("https://example.com/hooks?team=7")
        Address(host='example.com', port=443, path='/hooks?team=7')
        """
        found = _ADDRESS.fullmatch(parse_webhook(url))
        assert found is not None
        path = found["path"] or "/"
        return cls(found["host"].strip("[]").lower(), int(found["port"] or 443), path if path[0] == "/" else f"/{path}")


def parse_webhook(address: object) -> str:
    """
    >>> parse_webhook("https://example.com/hooks/jobs?team=7")
    'https://example.com/hooks/jobs?team=7'
    """
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) and len(address) <= MAX_WEBHOOK_BYTES else None
    if found is None or int(found["port"] or 1) not in range(1, _HIGHEST_PORT + 1):
        raise InvalidOptionError(
            _CREDENTIALS.sub("//…@", address) if isinstance(address, str) else address,
            f"a webhook is an https address of at most {MAX_WEBHOOK_BYTES} bytes, without user, password or fragment",
            "Use one like https://example.com/hooks/jobs; write other characters as %XX.",
        )
    return found[0]


def events_of(status: JobStatus, run: Run | None) -> tuple[RunEvent, ...]:
    """What is told of an end: how its run went, and then that it left a dead letter.

    Nothing of an end that no run has come to, such as a cancel before the start.
    """
    of_the_run = () if run is None else (_event_of(run.outcome),)
    return (*of_the_run, RunEvent.DEAD_LETTERED) if status is JobStatus.DEAD_LETTER else of_the_run


def _event_of(outcome: Outcome) -> RunEvent:
    match outcome:
        case Outcome.COMPLETED:
            return RunEvent.COMPLETED
        case Outcome.FAILED:
            return RunEvent.FAILED
        case Outcome.SKIPPED:
            return RunEvent.SKIPPED
        case _:
            assert_never(outcome)


def parse_priority(value: object) -> Priority:
    """
    >>> parse_priority("high") is parse_priority(2) is Priority.HIGH
    True
    """
    names = ", ".join(f"{each.name}={each.value}" for each in Priority)
    if isinstance(value, str):
        value = next((each for each in Priority if each.name.lower() == value), value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in set(Priority):
        raise InvalidOptionError(value, "there is no such priority", f"Use one of {names}.")
    return Priority(value)


def parse_attempts(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ATTEMPTS:
        raise InvalidOptionError(value, f"max_attempts is a whole number from 1 to {MAX_ATTEMPTS}", "Correct it.")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long an ended job stays readable. Dead letters stay until they are resolved."""

    completed: timedelta = timedelta(days=7)
    cancelled: timedelta = timedelta(days=7)
    dead_letter: timedelta = timedelta(days=30)

    def __post_init__(self) -> None:
        shortest = min(self.completed, self.cancelled, self.dead_letter)
        if shortest <= timedelta(0):
            raise InvalidOptionError(shortest, "an ended job is kept for a while", "Use an hour or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several jobs of a type in one invocation.

    size: how many at most. wait: how long a job that is due waits for others before it is claimed.
    """

    size: int = 10
    wait: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if not SMALLEST_BATCH <= self.size <= LARGEST_BATCH:
            raise InvalidOptionError(
                self.size, f"a batch has {SMALLEST_BATCH} to {LARGEST_BATCH} jobs", "Use 10, or leave the batch out."
            )
        if not timedelta(0) <= self.wait <= LONGEST_BATCH_WAIT:
            raise InvalidOptionError(
                self.wait, f"a batch waits at most {LONGEST_BATCH_WAIT} for its jobs", 'Use a short while, e.g. "1s".'
            )
