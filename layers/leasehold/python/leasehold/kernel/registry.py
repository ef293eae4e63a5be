"""Switches that operators set, and the registry of what is deployed."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError, UnknownJobTypeError
from leasehold.kernel.keys import MAX_SHARDS, NOT_ISOLATED, SYSTEM_CODE, JobPartition, code_of, type_code
from leasehold.kernel.type_options import DELIVERY, check_resource, check_seats
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.type_options import Circuit


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

    def stop(self, job_type: str) -> bool:
        """Whether somebody stopped this type, or everything."""
        return self.halt is not None or job_type in self.pauses

    def reserved_until(self, job_type: str, now: datetime) -> datetime | None:
        """Until when a type is reserved; None if it is not, or if who reserved it is gone and its time is over."""
        reservation = self.reservations.get(job_type)
        return reservation.until if reservation is not None and reservation.until > now else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What is deployed. The SDK refuses types and shards that are not in here: nobody would run such a job.

    isolate_types: whether a job's partition names its type, so that rights can be given by type.
    retired: codes of types that were deployed once: their jobs stay readable, and nobody else gets their partitions.
    """

    types: Mapping[str, JobType]
    shards: int = 1
    isolate_types: bool = True
    retired: Mapping[str, int] = field(default_factory=dict)
    ended_index: bool = True
    # How many jobs may run at once, of all types together; None is no limit.
    concurrency: int | None = None
    # How many jobs may use each shared resource at once.
    resources: Mapping[str, int] = field(default_factory=dict)
    # The bucket where the daily roots of the audit are kept; None where nobody keeps them.
    audit_roots: str | None = None
    # Whether what people do by hand needs a reason.
    require_reasons: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MAX_SHARDS:
            raise InvalidOptionError(self.shards, f"shards are 1 to {MAX_SHARDS}", "Start with 1.")
        if self.isolate_types:
            check_codes({name: each.code for name, each in self.types.items()} | dict(self.retired))
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

    def code_of(self, job_type: str) -> int:
        """What the ids of a type's jobs carry, also of one that is not deployed any more."""
        if job_type == DELIVERY:
            return SYSTEM_CODE
        if not self.isolate_types:
            return NOT_ISOLATED
        known = self.types.get(job_type)
        return known.code if known is not None else self.retired.get(job_type) or type_code(job_type)

    def has_code(self, code: int) -> bool:
        return code in {SYSTEM_CODE, NOT_ISOLATED} or any(each.code == code for each in self.types.values())

    def agrees(self, job_id: JobId, job_type: str) -> bool:
        """Whether a job of this type may have this id. Who writes an item can call it by any type, but not move it."""
        return code_of(job_id) == self.code_of(job_type)

    def partition_of(self, job_type: str, shard: int) -> JobPartition:
        return JobPartition(self.code_of(job_type), shard)

    def partitions(self, *job_types: str) -> list[str]:
        """Where jobs of these types live; of all users' types, if none is named."""
        named = job_types or [each for each in (*self.types, *self.retired) if each != DELIVERY]
        codes = dict.fromkeys(self.code_of(each) for each in named)
        return [
            JobPartition(code, shard).name
            for code in codes
            for shard in range(1 if code == SYSTEM_CODE else self.shards)
        ]

    def job_type(self, name: str) -> JobType:
        try:
            return self.types[name]
        except KeyError:
            raise UnknownJobTypeError(name, [each for each in self.types if each != DELIVERY]) from None


def succeeding(known: Registry, wanted: Registry) -> Registry:
    """What a deployment makes of the registry that it finds. What names partitions stays, or jobs would be lost."""
    if wanted.isolate_types is not known.isolate_types:
        raise InvalidOptionError(
            wanted.isolate_types,
            f"isolate_types was {known.isolate_types} when this table got its first jobs, and names their partitions",
            "Leave it as it was; a queue with another setting is another deployment.",
        )
    before = {name: each.code for name, each in known.types.items()} | dict(known.retired)
    for name, job_type in wanted.types.items():
        code = before.get(name, job_type.code)
        if wanted.isolate_types and code != job_type.code:
            raise InvalidOptionError(
                f"0x{job_type.code:04x}",
                f"{name} has had another code, and jobs in the partitions that it names",
                f"Write code = 0x{code:04x} in its job.toml, or use another name for the type.",
            )
    return replace(
        wanted,
        shards=max(wanted.shards, known.shards),
        retired={name: code for name, code in before.items() if name not in wanted.types and name != DELIVERY},
    )


def check_codes(codes: Mapping[str, int]) -> None:
    """Two types with one code would share partitions, and with them rights."""
    owners: dict[int, str] = {}
    for name, code in sorted(codes.items()):
        if code in owners:
            raise InvalidOptionError(
                f"0x{code:04x}",
                f"{owners[code]} and {name} have the same code, which names the partitions of their jobs",
                f"Give the newer of them another in its job.toml: {free_code_line(codes.values())}.",
            )
        owners[code] = name


def free_code_line(taken: Collection[int]) -> str:
    return f"code = 0x{next(code for code in range(0x1000, SYSTEM_CODE) if code not in taken):04x}"
