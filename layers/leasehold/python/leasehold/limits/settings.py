"""What settings say of limits, checked. It is apart: whoever reads what is deployed checks it, and needs no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.type_options import MAX_SEATS, NAME, whole_number

if TYPE_CHECKING:
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry


def check_limits(job_type: JobType) -> None:
    """What a type's settings say of its limits."""
    for limit in (job_type.concurrency, job_type.concurrency_per_key):
        if limit is not None:
            check_seats(limit, f"{job_type.name}: concurrency")
    for resource in job_type.resources:
        check_resource(resource)
    for weight in job_type.weights.values():
        check_seats(weight, f"{job_type.name}: a weight")


def check_shared_limits(registry: Registry) -> None:
    """What a deployment says of the limits that types share."""
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


def check_seats(value: object, subject: str) -> None:
    whole_number(value, subject, MAX_SEATS)


def check_resource(name: object) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidOptionError(
            name, "a resource is 1 to 64 characters of a-z, 0-9 and _, starting with a letter", "Use a name like gpu."
        )
