"""Lay out: put a payload that does not fit into its job apart, before the job is written.

So a job never names an item that is not there. One that is written for a job which then is not costs its bytes once,
and expires.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import StoreError
from leasehold.store.payloads import Layout, is_laid_out, layout_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

# How much longer than its job's retention a payload lives from the job's time on. A job that is still not over by then
# has had its payload renewed, which keep_payloads.py does once a week: for a year it may fail to. Storage is cheap.
SLACK = timedelta(days=400)


def lay_out(job: Job, parts: Parts) -> Layout:
    """Decide where the payload goes, without writing anything."""
    if is_laid_out(job):
        return Layout(job)
    return layout_of(job, expiry_of(job, max(job.scheduled_for, parts.clock.now()), parts))


def laid_out(job: Job, parts: Parts) -> Job:
    """The job as it is to be stored; its payload is apart by then, if that is where it belongs."""
    layout = lay_out(job, parts)
    if layout.item is not None:
        parts.store.payloads.put(layout.item)
    return layout.job


def laid_out_many(jobs: Sequence[Job], parts: Parts) -> list[Job]:
    """As `laid_out`, in as few calls as possible; the first error if one of them cannot be."""
    made = [each if isinstance(each, Exception) else each.job for each in lay_out_many(jobs, parts)]
    for each in made:
        if isinstance(each, Exception):
            raise each
    return [each for each in made if not isinstance(each, Exception)]


def lay_out_many(jobs: Sequence[Job], parts: Parts) -> list[Layout | Exception]:
    """Write what goes apart; for each job its layout, or the error that kept its payload from being written."""
    layouts = [lay_out(job, parts) for job in jobs]
    items = [layout.item for layout in layouts if layout.item is not None]
    answers = iter(parts.store.payloads.put_many(items) if items else [])
    return [layout if layout.item is None else _answered(layout, next(answers)) for layout in layouts]


def expiry_of(job: Job, since: datetime, parts: Parts) -> int:
    """When a payload may go that is needed at least until then, in epoch seconds; times may be as late as they can."""
    retention = parts.deployment.settings_of(job.job_type).retention
    kept_for = max(retention.completed, retention.cancelled) + SLACK
    return int(since.timestamp() + kept_for.total_seconds())


def _answered(layout: Layout, answer: Exception | None) -> Layout | Exception:
    if answer is None or isinstance(answer, StoreError):
        return answer or layout
    return StoreError(str(answer))
