"""Deliver: a run that ends owes whoever is to be told of it a delivery, which commits with the end or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.domain.webhook import DELIVERY, events_of
from leasehold.domain.webhook_delivery import delivery
from leasehold.engine.lay_out import lay_out
from leasehold.engine.telemetry import Event
from leasehold.kernel.hooks import NOTHING, Hooks, Joining
from leasehold.store.jobs import insertion

if TYPE_CHECKING:
    from leasehold.domain.due import Due
    from leasehold.domain.job import Job
    from leasehold.domain.lifecycle import JobStatus
    from leasehold.domain.run import Run
    from leasehold.domain.webhook import RunEvent
    from leasehold.engine.parts import Parts
    from leasehold.kernel.hooks import End


class WebhookHooks(Hooks):
    def with_end(self, end: End, services: Parts) -> Joining:
        url = _address(end)
        told = [] if url is None else [each for each in events_of(_status(end), end.run) if _is_wanted(each, end)]
        if url is None or not told:
            return NOTHING
        settings = services.deployment.registry().types.get(DELIVERY)
        if settings is None:
            # Webhooks were switched off since it was enqueued. Its end matters more than who hears of it.
            for event in told:
                services.telemetry.event(
                    Event.WEBHOOK_DROPPED, job_id=end.job.job_id, job_type=end.job.job_type, told=str(event)
                )
            return NOTHING
        ended = _as_it_ends(end)
        layouts = [
            lay_out(delivery(ended, end.run, event, url=url, ended_at=end.at, settings=settings), services)
            for event in told
        ]
        return Joining(
            changes=[insertion(each.job) for each in layouts],
            first=[each.item for each in layouts if each.item is not None],
        )


def _address(end: End) -> str | None:
    """Who is told of this job's runs: its own address, or its type's."""
    if end.job.job_type == DELIVERY:
        return None
    if end.job.webhook is not None:
        return end.job.webhook
    return end.job_type.webhook.url if end.job_type.webhook else None


def _is_wanted(event: RunEvent, end: End) -> bool:
    return end.job_type.webhook is None or event in end.job_type.webhook.events


def _status(end: End) -> JobStatus:
    return end.step.target or end.job.status


def _as_it_ends(end: End) -> Job:
    """The job as its end leaves it, as far as others are told of it."""
    job, values = end.job, end.values
    return replace(
        job,
        status=_status(end),
        runs=cast("tuple[Run, ...]", values.get("runs", job.runs)),
        due=cast("Due | None", values.get("due_key")),
        result_text=cast("str | None", values.get("result", job.result_text)),
        last_error=cast("str | None", values.get("last_error", job.last_error)),
        last_error_code=cast("str | None", values.get("last_error_code", job.last_error_code)),
    )
