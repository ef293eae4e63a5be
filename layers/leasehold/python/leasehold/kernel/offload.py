"""Lay out: put a payload that does not fit into its job apart, before the job is written.

So a job never names an item that is not there. One that is written for a job which then is not costs its bytes once,
and expires.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from leasehold.kernel import partitions
from leasehold.kernel.errors import StoreError
from leasehold.kernel.payload import is_laid_out
from leasehold.kernel.payload_forms import apart, compact, fits_into_its_job, name_of
from leasehold.kernel.table import Put

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services


# How much longer than its job's retention a payload lives from the job's time on. A job that is still not over by then
# has had its payload renewed, once a week by housekeeping/payload_rounds.py: for a year that may fail.
SLACK = timedelta(days=400)


def lay_out(job: Job, services: Services) -> Layout:
    """Decide where the payload goes, without writing anything."""
    if is_laid_out(job.stored_payload):
        return Layout(job)
    return layout_of(job, expiry_of(job, max(job.scheduled_for, services.clock.now()), services))


def laid_out(job: Job, services: Services) -> Job:
    """The job as it is to be stored; its payload is apart by then, if that is where it belongs."""
    layout = lay_out(job, services)
    if layout.item is not None:
        services.store.payloads.insert(layout.item)
    return layout.job


def laid_out_many(jobs: Sequence[Job], services: Services) -> list[Job]:
    """As `laid_out`, in as few calls as possible; the first error if one of them cannot be."""
    layouts = [lay_out(job, services) for job in jobs]
    for answer in put_items(layouts, services):
        if answer is not None:
            raise answer
    return [layout.job for layout in layouts]


def put_items(layouts: Sequence[Layout], services: Services) -> list[Exception | None]:
    """Write what goes apart, in as few calls as possible; for each layout None, or what kept its item from it."""
    items = [layout.item for layout in layouts if layout.item is not None]
    answers = iter(services.store.payloads.put_many(items) if items else [])
    return [None if layout.item is None else _store_error(next(answers)) for layout in layouts]


def expiry_of(job: Job, since: datetime, services: Services) -> int:
    """When a payload may go that is needed at least until then, in epoch seconds; times may be as late as they can."""
    retention = services.deployment.settings_of(job.job_type).retention
    kept_for = max(retention.completed, retention.cancelled) + SLACK
    return int(since.timestamp() + kept_for.total_seconds())


def _store_error(answer: Exception | None) -> StoreError | None:
    return answer if answer is None or isinstance(answer, StoreError) else StoreError(str(answer))


class Layout(NamedTuple):
    """A job as it is to be stored, and the item that has to be there before it; `item` is None if it holds all."""

    job: Job
    item: Put | None = None


def layout_of(job: Job, expires_at: int) -> Layout:
    """Where the payload of a new job goes. This is the one place that decides it."""
    if is_laid_out(job.stored_payload):
        return Layout(job)
    text = job.payload_text
    form = compact(text)
    if fits_into_its_job(form):
        return Layout(replace(job, stored_payload=form))
    name = name_of(text)
    # Without a condition: what stands under this name is this text, perhaps with less time to live.
    item = Put(
        key=partitions.payload(job.job_id, name), record={"payload": form, "expires_at": expires_at}, conditions=()
    )
    return Layout(replace(job, stored_payload=apart(name), read_payload=text), item)
