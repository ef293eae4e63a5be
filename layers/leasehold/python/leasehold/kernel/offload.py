"""Payloads that do not fit into their jobs: each in an item of its own, written once and before its job.

So a job never names an item that is not there. The item's name says its content, so that writing it twice is writing
it once, and a job can never find another text than it was made with. An item whose job was not written after all is in
nobody's way, and expires.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

from leasehold.kernel import partitions
from leasehold.kernel.errors import PAYLOAD_IS_LOST, PayloadMissingError
from leasehold.kernel.payload import MAX_INLINE_BYTES, MISSING, OFFLOADED, is_stored_form, size_of
from leasehold.kernel.payload_forms import compact, name_of, text_in
from leasehold.kernel.table import ConditionFailed, Put

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Form
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Table


# How much longer than its job's retention a payload lives from the job's time on. A job that is still not over by then
# has had its payload renewed, once a week by housekeeping/payload_rounds.py: for a year that may fail.
SLACK = timedelta(days=400)


class Offload(NamedTuple):
    """A job as it is to be stored, and the item that has to be there before it; `item` is None if it holds all."""

    job: Job
    item: Put | None = None


def plan_offload(job: Job, services: Services) -> Offload:
    """Decide where the payload goes, without writing anything. This is the one place that decides it."""
    if is_stored_form(job.stored_payload):
        return Offload(job)
    text = job.payload_text
    form = compact(text)
    if size_of(form) <= MAX_INLINE_BYTES:
        return Offload(replace(job, stored_payload=form))
    name = name_of(text)
    expires_at = expiry_of(job, max(job.scheduled_for, services.clock.now()), services)
    # Without a condition: what stands under this name is this text, perhaps with less time to live.
    item = Put(
        key=partitions.payload(job.job_id, name), record={"payload": form, "expires_at": expires_at}, conditions=()
    )
    return Offload(replace(job, stored_payload=OFFLOADED + name, read_payload=text), item)


def offloaded(job: Job, services: Services) -> Job:
    """The job as it is to be stored; its payload is apart by then, if that is where it belongs."""
    return behind_its_item(plan_offload(job, services), services)


def behind_its_item(offload: Offload, services: Services) -> Job:
    if offload.item is not None:
        services.store.payloads.insert(offload.item)
    return offload.job


def expiry_of(job: Job, since: datetime, services: Services) -> int:
    """When a payload may go that is needed at least until then, in epoch seconds; times may be as late as they can."""
    retention = services.deployment.settings_of(job.job_type).retention
    kept_for = max(retention.completed, retention.cancelled) + SLACK
    return int(since.timestamp() + kept_for.total_seconds())


class Payloads:
    def __init__(self, table: Table) -> None:
        self._table = table

    def insert(self, item: Put) -> None:
        """Put an item of a job that is new, without the right to overwrite one: where it is, a try before wrote it."""
        (answer,) = self._table.insert_many([item])
        if answer is not None and not isinstance(answer, ConditionFailed):
            raise answer

    def read(self, job: Job) -> Job:
        """The job with its payload; PayloadMissingError if that stood apart and is gone."""
        name = job.payload_name
        if name is None or job.read_payload is not None:
            return job
        record = self._table.get(partitions.payload(job.job_id, name))
        if record is None:
            raise PayloadMissingError(job.job_id, name)
        return replace(job, read_payload=text_in(cast("Form", record["payload"])))

    def shown(self, job: Job) -> Job:
        """The job with its payload, or with a word in its place if that is gone, for people who look at it."""
        try:
            read = self.read(job)
            text_in(read.stored_payload)  # bytes in the job itself may be damaged as well
            return read
        except PAYLOAD_IS_LOST:
            return replace(job, read_payload=MISSING)
