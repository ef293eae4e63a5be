"""How many jobs may run at once, or start in a while: limits, and the places that a claim takes in them.

A limit is a scope with so many seats. A claim takes one seat in each of its limits, together with the lease. A seat of
a concurrency limit is given back at the job's end; a seat of a rate limit is free again when its period is over, so
that no window of that length ever sees more starts than there are seats.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.type_options import type_scope
from leasehold.lean import dataclass
from leasehold.limits.settings import check_seats

if TYPE_CHECKING:
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry


EVERYTHING = "all"
# The scopes of a policy of the user's own: apart, so that roles can be narrowed to them.
OWN_SCOPE = "own:"
LONGEST_PERIOD = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in any stretch of time as long as `per`."""

    count: int
    per: timedelta

    def __post_init__(self) -> None:
        check_seats(self.count, "a rate")
        if not timedelta(seconds=1) <= self.per <= LONGEST_PERIOD:
            raise InvalidOptionError(self.per, "a rate counts over 1 second to 1 day", 'Use e.g. "100 per minute".')


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A scope with so many seats. `period` is how long a start keeps its seat; None is until the job's end."""

    scope: str
    seats: int
    period: timedelta | None = None
    # Whether the type's `on_full` speaks about it; what is shared with other types is always waited for.
    is_own: bool = True

    @property
    def reason(self) -> str:
        """Why a job waits, for people who look at it."""
        return "at its rate limit" if self.period else "at its concurrency limit"


class ConcurrencyPolicy(Protocol):
    """Which limits a job counts against: the wide ones first, since a job waits in the first that has no room.

    This is the question that decides everything else: a job may be dispatched if each limit has a free seat; the seats
    are taken in the transaction that claims it, and given back at its end.
    """

    def limits_of(self, job_type: JobType, concurrency_key: str | None, registry: Registry) -> tuple[Limit, ...]: ...


class DeployedLimits:
    """The default: the deployment's own limits, then the type's, then those of the job's key."""

    def limits_of(self, job_type: JobType, concurrency_key: str | None, registry: Registry) -> tuple[Limit, ...]:
        limits = []
        if registry.concurrency is not None:
            limits.append(Limit(scope=EVERYTHING, seats=registry.concurrency, is_own=False))
        limits += [
            Limit(scope=resource_scope(name), seats=registry.resources[name], is_own=False)
            for name in job_type.resources
            if name in registry.resources
        ]
        if job_type.concurrency is not None:
            limits.append(Limit(scope=type_scope(job_type.name), seats=job_type.concurrency))
        if job_type.rate is not None:
            limits.append(_rate_limit(rate_scope(job_type.name), job_type.rate))
        if concurrency_key is not None:
            if job_type.concurrency_per_key is not None:
                scope = key_scope(job_type.name, concurrency_key)
                limits.append(Limit(scope=scope, seats=job_type.concurrency_per_key))
            if job_type.rate_per_key is not None:
                limits.append(_rate_limit(rate_scope(job_type.name, concurrency_key), job_type.rate_per_key))
        return tuple(limits)


@dataclass(frozen=True, slots=True)
class Places:
    """The seats that one claim holds until the job's end; what the job keeps, so that its end frees exactly these."""

    taken_by: str
    seats: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """
        >>> Places("poller.4f", (("all", 7), ("type:report", 0))).text
        '2#all#7#type:report#0#poller.4f'
        """
        return "#".join([str(len(self.seats)), *(f"{scope}#{number}" for scope, number in self.seats), self.taken_by])

    @classmethod
    def parse(cls, text: str) -> Places:
        """
        >>> Places.parse("1#type:report#0#poller.4f")
        Places(taken_by='poller.4f', seats=(('type:report', 0),))
        """
        count, rest = text.split("#", 1)
        *services, taken_by = rest.split("#", 2 * int(count))
        return cls(taken_by, tuple(zip(services[::2], map(int, services[1::2]), strict=True)))


def key_scope(job_type: str, concurrency_key: str) -> str:
    return f"key:{job_type}:{concurrency_key}"


def rate_scope(job_type: str, concurrency_key: str | None = None) -> str:
    return f"rate:{job_type}" if concurrency_key is None else f"rate:{job_type}:{concurrency_key}"


def resource_scope(name: str) -> str:
    return f"resource:{name}"


def key_of_scope(scope: str) -> tuple[str, str] | None:
    """The type and the key that a scope is of; None for other scopes.

    >>> key_of_scope("key:user_sync:acme"), key_of_scope("rate:user_sync")
    (('user_sync', 'acme'), None)
    """
    kind, _, rest = scope.partition(":")
    job_type, _, key = rest.partition(":")
    return (job_type, key) if kind in {"key", "rate"} and key else None


def type_of_scope(scope: str) -> str | None:
    """The type that a scope holds back as a whole, e.g. while it is paused; None for other scopes."""
    return scope.removeprefix("type:") if scope.startswith("type:") else None


def weight_of(queue: str, scope: str, registry: Registry) -> int:
    """How many jobs of a queue have a turn together: its key's among its type's, its type's among others."""
    name, _, key = queue.partition("#")
    job_type = registry.types.get(name)
    if job_type is None:
        return 1
    is_shared = scope == EVERYTHING or scope.startswith("resource:")
    return job_type.weight if is_shared else job_type.weights.get(key, 1)


def _rate_limit(scope: str, rate: Rate) -> Limit:
    return Limit(scope=scope, seats=rate.count, period=rate.per)


def group_scope(group_id: str) -> str:
    return f"group:{group_id}"


def is_group_scope(scope: str) -> bool:
    return scope.startswith("group:")
