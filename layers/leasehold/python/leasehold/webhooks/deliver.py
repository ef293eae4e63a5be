"""Deliver: a run's end notes that somebody is to be told of it, and a poller makes the delivery.

Whoever ends a run, a handler mostly, has no right to make deliveries: what is signed and sent is made from what the job
itself says, by the system alone. Its id follows from the end that it tells of, so it is made once, however often that
is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.hooks import NOTHING, Hooks, Joining
from leasehold.kernel.offload import plan_offload
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY
from leasehold.telemetry import Event
from leasehold.webhooks.address import RunEvent
from leasehold.webhooks.model import delivery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.kernel.end import Ending
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.services import Services

NAME = "webhooks"
# What is owed is noted by the numbers of the runs, and this for the dead letter.
_DEAD_LETTER = "-"


class WebhookHooks(Hooks):
    def with_end(self, end: Ending, services: Services) -> Joining:
        noted = [*_notes(end.job), *_noted(end)]
        return Joining(is_owed=True, note=",".join(noted)) if noted else NOTHING

    def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
        for job in jobs:
            _tell_of(job, services)
        return NOTHING


def _tell_of(job: Job, services: Services) -> None:
    url = _address(job, services.deployment.settings_of(job.job_type))
    settings = services.deployment.registry().types.get(DELIVERY)
    shown = services.store.payloads.shown(job)
    for event, run, ended_at in _owed(job):
        if url is None or settings is None:
            # Webhooks were switched off since. That the job goes on matters more than who hears of it.
            services.telemetry.event(Event.WEBHOOK_DROPPED, job_id=job.job_id, job_type=job.job_type, told=str(event))
        else:
            _make(delivery(shown, run, event, url=url, ended_at=ended_at, settings=settings), services)


def _noted(end: Ending) -> list[str]:
    """How its run went, and that it left a dead letter. Nothing of an end that no run has come to."""
    if _address(end.job, end.job_type) is None:
        return []
    wanted = end.job_type.webhook.events if end.job_type.webhook else tuple(RunEvent)
    run = end.run
    noted = [str(run.number)] if run is not None and RunEvent[run.outcome.name] in wanted else []
    is_dead_lettered = (end.step.target or end.job.status) is JobStatus.DEAD_LETTER
    return [*noted, _DEAD_LETTER] if is_dead_lettered and RunEvent.DEAD_LETTERED in wanted else noted


def _notes(job: Job) -> list[str]:
    """What earlier ends noted that is owed still."""
    noted = (each.partition(":") for each in job.owed)
    return next((note.split(",") for name, _, note in noted if name == NAME and note), [])


def _owed(job: Job) -> Iterator[tuple[RunEvent, Run | None, datetime]]:
    """What is to be told, of which run, and since when. A run that its history has lost is told no more."""
    for note in _notes(job):
        if note == _DEAD_LETTER and job.completed_at is not None:
            last = job.runs[-1] if job.runs and job.runs[-1].ended_at == job.completed_at else None
            yield RunEvent.DEAD_LETTERED, last, job.completed_at
            continue
        for run in job.runs:
            if str(run.number) == note:
                yield RunEvent[run.outcome.name], run, run.ended_at


def _make(made: Job, services: Services) -> None:
    offload = plan_offload(made, services)
    if offload.item is not None:
        services.store.table.write(offload.item)
    try:
        services.store.jobs.insert(offload.job)
    except ConditionFailed:
        return  # by a try whose response was lost, or by another poller


def _address(job: Job, job_type: JobType) -> str | None:
    """Who is told of this job's runs: its own address, or its type's."""
    if job.job_type == DELIVERY:
        return None
    if job.webhook is not None:
        return job.webhook
    return job_type.webhook.url if job_type.webhook else None
