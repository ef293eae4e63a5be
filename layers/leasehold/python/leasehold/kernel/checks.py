"""What settings of a type, and of a whole deployment, have to be: checked where they are made."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import MAX_SHARDS, NOT_ISOLATED, SYSTEM_CODE
from leasehold.kernel.type_options import CLOCK_TOLERANCE, check_resource, check_seats

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry


def check_job_type(job_type: JobType) -> None:
    name = job_type.name
    if job_type.timeout <= timedelta(0) or job_type.max_event_age < timedelta(0):
        raise InvalidOptionError(
            (job_type.timeout, job_type.max_event_age),
            f"{name}: timeout and event age must be positive",
            "Correct it.",
        )
    if job_type.max_attempts < 1:
        raise InvalidOptionError(job_type.max_attempts, f"{name}: max_attempts is at least 1", "Use 1 or more.")
    for limit in (job_type.concurrency, job_type.concurrency_per_key):
        if limit is not None:
            check_seats(limit, f"{name}: concurrency")
    for resource in job_type.resources:
        check_resource(resource)
    for weight in (job_type.weight, *job_type.weights.values()):
        check_seats(weight, f"{name}: a weight")
    if job_type.lease is not None and job_type.lease < job_type.full_lease and not job_type.heartbeat:
        raise InvalidOptionError(
            job_type.lease,
            f"{name}: a lease shorter than timeout + event age + 5 s ({job_type.full_lease}) needs a heartbeat",
            "Set heartbeat, or leave the lease out.",
        )
    if job_type.lease is not None and job_type.lease < 3 * CLOCK_TOLERANCE:
        raise InvalidOptionError(
            job_type.lease, f"{name}: a lease is at least {3 * CLOCK_TOLERANCE}", "Use a longer lease."
        )


def check_code(job_type: JobType) -> None:
    if not NOT_ISOLATED < job_type.code < SYSTEM_CODE:
        raise InvalidOptionError(
            job_type.code,
            f"{job_type.name}: a code is {NOT_ISOLATED + 1} to {SYSTEM_CODE - 1}",
            "Leave it out, or choose another.",
        )


def check_registry(registry: Registry) -> None:
    if not 1 <= registry.shards <= MAX_SHARDS:
        raise InvalidOptionError(registry.shards, f"shards are 1 to {MAX_SHARDS}", "Start with 1.")
    if registry.isolate_types:
        check_codes({name: each.code for name, each in registry.types.items()} | dict(registry.retired))
    if registry.concurrency is not None:
        check_seats(registry.concurrency, "the concurrency of all types")
    for name, seats in registry.resources.items():
        check_resource(name)
        check_seats(seats, f"resource {name}")
    for job_type in registry.types.values():
        for name in job_type.resources:
            if name not in registry.resources:
                raise InvalidOptionError(
                    name,
                    f"{job_type.name} needs a resource that is not there",
                    f"Say how much of it there is, in the stage's resources: {sorted(registry.resources)} are known.",
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
