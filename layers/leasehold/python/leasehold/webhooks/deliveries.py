"""The log of deliveries: who was told of which run, how often it was tried, and with what answer."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from leasehold.kernel.errors import JobNotFoundError
from leasehold.kernel.job import Outcome
from leasehold.kernel.keys import parse_job_id
from leasehold.kernel.partitions import payload
from leasehold.kernel.payload import MISSING, PURGED
from leasehold.kernel.payload_forms import text_or
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.trust import is_trusted
from leasehold.kernel.type_options import DELIVERY, whole_number
from leasehold.kernel.unreadable import report_unreadable
from leasehold.lean import dataclass
from leasehold.webhooks.address import RunEvent
from leasehold.webhooks.model import delivery_ids, last_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Form
    from leasehold.kernel.services import Services


MOST_LISTED = 100


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    # Given up: the receiver did not take it. An operator may have it sent again with `queue.retry`.
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """`code` is the answer's status, such as `http_204`, or what came in its place: timeout, tls, refused_address, …"""

    at: datetime
    code: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """`delivery_id` is the id of the job that does it; `message_id` is what the receiver sees as webhook-id."""

    delivery_id: JobId
    message_id: str
    job_id: JobId
    run_id: str | None
    event: RunEvent
    url: str
    state: DeliveryState
    tries: tuple[Try, ...]
    next_try_at: datetime | None = None


class Webhooks:
    """`queue.webhooks`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def deliveries(self, job_id: str) -> list[Delivery]:
        """What receivers were told, or will be, of this job's runs; kept as long as ended jobs are.

        >>> [(each.event, each.state) for each in queue.webhooks.deliveries(job_id)]     # doctest: +SKIP
        [('job.run.failed', 'delivered'), ('job.run.completed', 'waiting')]
        """
        wanted = parse_job_id(job_id)
        job = self._services.store.jobs.get(wanted)
        if job is None:
            raise JobNotFoundError("job", wanted)
        return _listed(delivery_ids(job), self._services)

    def failed(self, *, limit: int = 25) -> list[Delivery]:
        """The newest deliveries that were given up, of all jobs. `queue.retry(delivery_id, ...)` sends one again."""
        whole_number(limit, "limit", MOST_LISTED)
        ids = self._services.store.listings.ended(JobStatus.CANCELLED, DELIVERY, limit=limit)
        return _listed(ids, self._services)


def _listed(ids: Sequence[JobId], services: Services) -> list[Delivery]:
    read, unreadable = services.store.listings.look_up(ids)
    report_unreadable(unreadable, services)
    found = [read[each] for each in ids if each in read and read[each].job_type == DELIVERY]
    jobs = _shown([job for job in found if is_trusted(job.job_id, DELIVERY, services)], services)
    # What it told is gone with its payload.
    return [delivery_of(job) for job in jobs if job.read_payload != MISSING and job.stored_payload != PURGED]


def _shown(jobs: Sequence[Job], services: Services) -> list[Job]:
    """With their payloads, in as few calls as possible."""
    items = {job.job_id: payload(job.job_id, job.payload_name) for job in jobs if job.payload_name is not None}
    records = services.store.table.get_many(list(items.values())) if items else []
    texts = {record["PK"]: text_or(MISSING, cast("Form", record["payload"])) for record in records}
    return [
        replace(job, read_payload=texts.get(items[job.job_id].values[0], MISSING))
        if job.job_id in items
        else services.store.payloads.shown(job)
        for job in jobs
    ]


def delivery_of(job: Job) -> Delivery:
    message = json.loads(job.payload_text)
    event = json.loads(message["body"])
    return Delivery(
        delivery_id=job.job_id,
        message_id=message["id"],
        job_id=event["data"]["job_id"],
        run_id=event["data"].get("run_id"),
        event=RunEvent(event["type"]),
        url=message["url"],
        state=_state(job.status),
        tries=tuple(_tries(job)),
        next_try_at=job.due_at if job.status.is_waiting else None,
    )


def _tries(job: Job) -> Iterable[Try]:
    for run in job.runs:
        if run.outcome is Outcome.COMPLETED:
            result = json.loads(job.result_text or "{}")
            yield Try(at=run.started_at, code=f"http_{result.get('status', '2xx')}")
        else:
            line = last_line(run.error or run.reason) or ""
            message = line.partition("WebhookFailedError: ")[2] or line
            yield Try(at=run.started_at, code=run.error_code or "unknown", error=message)


def _state(status: JobStatus) -> DeliveryState:
    if not status.has_ended:
        return DeliveryState.WAITING
    return DeliveryState.DELIVERED if status is JobStatus.COMPLETED else DeliveryState.FAILED
