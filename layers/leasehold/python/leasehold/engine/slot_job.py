"""The job of a slot: its id is derived from the schedule and the planned moment, so that there is only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.ids import derive_job_id
from leasehold.domain.instants import to_text
from leasehold.engine.draft import JobRequest, draft
from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.domain.schedule import Schedule
    from leasehold.engine.parts import Parts

# All jobs of schedules live on the shard that every deployment has: a slot's id must not depend on how many there are.
_SHARD = 0


def look_up_template(schedule: Schedule, parts: Parts) -> None:
    """Jobs of slots are made from the template as it is now, not as it was some seconds ago."""
    if schedule.template is not None:
        parts.templates.get(schedule.template, fresh=True)


def job_of_slot(
    schedule: Schedule, slot: datetime, parts: Parts, *, kind: str = "slot", created_by: str | None = None
) -> Job:
    request = JobRequest(
        job_type=schedule.job_type,
        payload_text=schedule.payload_text,
        priority=schedule.priority,
        template=schedule.template,
        created_by=created_by or f"schedule:{schedule.name}",
        schedule=schedule.name,
    )
    return draft(request, parts, job_id=id_of_slot(schedule, slot, parts, kind=kind)).job


def id_of_slot(schedule: Schedule, slot: datetime, parts: Parts, *, kind: str = "slot") -> JobId:
    partition = parts.deployment.registry().partition_of(schedule.job_type, _SHARD)
    return derive_job_id(slot, partition, "schedule", schedule.name, kind, to_text(slot))


def tell(job: Job, parts: Parts) -> None:
    parts.telemetry.event(
        Event.JOB_ENQUEUED,
        job_id=job.job_id,
        job_type=job.job_type,
        schedule=job.schedule,
        scheduled_for=to_text(job.scheduled_for),
        created_by=job.created_by,
    )
