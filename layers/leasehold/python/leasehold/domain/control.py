"""Switches that operators set, and the registry of what is deployed."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError, UnknownJobTypeError
from leasehold.domain.ids import SYSTEM_SHARD
from leasehold.domain.lean import dataclass
from leasehold.domain.limits import check_resource, check_seats
from leasehold.domain.webhook import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.job_type import JobType


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Something is stopped: who did it, when and why. With a `circuit`, its circuit breaker did, and tries again."""

    by: str
    at: datetime
    reason: str
    circuit: Circuit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A type's next slot is for a direct run, as long as it lasts: no job of the type starts before it is over."""

    run_id: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    halt: Switch | None = None
    pauses: Mapping[str, Switch] = field(default_factory=dict)
    reservations: Mapping[str, Reservation] = field(default_factory=dict)

    def reserved_until(self, job_type: str, now: datetime) -> datetime | None:
        """Until when a type is reserved; None if it is not, or if who reserved it is gone and its time is over."""
        reservation = self.reservations.get(job_type)
        return reservation.until if reservation is not None and reservation.until > now else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What is deployed. The SDK refuses types and shards that are not in here: nobody would run such a job."""

    types: Mapping[str, JobType]
    shards: int = 1
    ended_index: bool = True
    # How many jobs may run at once, of all types together; None is no limit.
    concurrency: int | None = None
    # How many jobs may use each shared resource at once.
    resources: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= SYSTEM_SHARD:
            raise InvalidOptionError(self.shards, f"shards are 1 to {SYSTEM_SHARD}", "Start with 1.")
        if self.concurrency is not None:
            check_seats(self.concurrency, "the concurrency of all types")
        for name, seats in self.resources.items():
            check_resource(name)
            check_seats(seats, f"resource {name}")
        for job_type in self.types.values():
            for name in job_type.resources:
                if name not in self.resources:
                    raise InvalidOptionError(
                        name,
                        f"{job_type.name} needs a resource that is not there",
                        f"Say how much of it there is, in the stage's resources: {sorted(self.resources)} are known.",
                    )

    def job_type(self, name: str) -> JobType:
        try:
            return self.types[name]
        except KeyError:
            raise UnknownJobTypeError(name, [each for each in self.types if each != DELIVERY]) from None
