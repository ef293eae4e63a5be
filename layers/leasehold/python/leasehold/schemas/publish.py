"""At a deployment: keep what each handler says about its payloads, and refuse to publish one that cannot start."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import DeploymentError
from leasehold.kernel.keys import LATEST
from leasehold.kernel.partitions import of_jobs
from leasehold.schemas.check import misfits
from leasehold.schemas.records import PayloadSchema, digest_of, read_schema, write_schema
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.services import Services
    from leasehold.schemas.shape import Shape

    # A handler's answer, or None if it could not be asked, e.g. because all its places are taken.
    type Ask = Callable[[JobType], Mapping[str, Any] | None]

SAMPLE = 100
_AT_ONCE = 8
_LATE = timedelta(hours=1)


def with_schemas(registry: Registry, codes: Mapping[str, str], ask: Ask, services: Services) -> Registry:
    """The registry, with the schemas that the handlers say hold for their types.

    codes: what is deployed for each type that is to be asked. A handler that was published with the same code before is
        not refused, whatever it says now: that is a rollback, which must not fail.
    """
    from concurrent.futures import ThreadPoolExecutor

    asked = [registry.types[name] for name in codes if name in registry.types]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = dict(zip((each.name for each in asked), pool.map(ask, asked), strict=True))
    types, broken = dict(registry.types), []
    for name, answer in answers.items():
        before = read_schema(name, services.store.table)
        if answer is None or "error" in answer:
            error = None if answer is None else str(answer["error"])
            if error is not None and (before is None or before.code != codes[name]):
                broken.append(f"{name}: {error}")
            services.telemetry.event(Event.HANDLER_NOT_DESCRIBED, job_type=name, error=error or "it was not reached")
            continue
        schema = PayloadSchema(
            digest=digest_of(answer["shape"]), shape=answer["shape"], code=codes[name], document=answer.get("schema")
        )
        types[name] = replace(types[name], logs=answer.get("logs"))
        if not broken:
            is_kept = schema == before or write_schema(name, schema, services.store.table)
            if is_kept and types[name].check_payload:
                types[name] = replace(types[name], schema=schema.digest)
            if before is not None and before.digest != schema.digest:
                _report(types[name], schema.shape, services)
    if broken:
        raise DeploymentError("these handlers cannot start, so nothing was published. " + " | ".join(broken))
    return replace(registry, types=types)


def _report(job_type: JobType, shape: Shape, services: Services) -> None:
    """Look whether jobs that wait fit what their handler asks for from now on."""
    waiting = [job for job in waiting_jobs(job_type.name, services) if job.payload_name is None]
    unfit = {
        job.job_id: f"{found[0].path} {found[0].reason}" for job in waiting if (found := misfits(job.payload, shape))
    }
    services.telemetry.event(
        Event.SCHEMA_CHANGED,
        job_type=job_type.name,
        sampled=len(waiting),
        unfit=len(unfit),
        examples=dict(list(unfit.items())[:3]),
    )


def waiting_jobs(job_type: str, services: Services) -> list[Job]:
    """Some that are to run from now on or should have run in the last hour, `SAMPLE` at most."""
    since = services.clock.now() - _LATE
    found: list[Job] = []
    for partition in of_jobs(services.deployment.registry(), job_type):
        page = services.store.listings.by_date(partition, since, LATEST, limit=SAMPLE)
        found += [job for job in page.jobs if job.job_type == job_type and job.status.is_waiting]
    return found[:SAMPLE]
