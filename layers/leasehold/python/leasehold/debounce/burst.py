"""Debounce: a burst of calls makes one job, which runs with the last payload once the burst is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.audit.records import contended, tries
from leasehold.kernel.dedup import UntilEnded, job_of_holder
from leasehold.kernel.enqueue import Enqueued, OnDuplicate, write
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.jobs import Write, needs_wake
from leasehold.kernel.keys import Due, position_at
from leasehold.kernel.offload import plan_offload
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.transitions import DEBOUNCE, JobStatus

if TYPE_CHECKING:
    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.enqueue import Draft, JobRequest
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services


def debounced(request: JobRequest) -> JobRequest:
    """A call of a burst as a request, whose job runs when the burst is over."""
    wanted = request.wanted
    quiet, max_wait = wanted.debounce, wanted.max_wait
    for given in (quiet, max_wait):
        if given is not None and not isinstance(given, timedelta):
            raise InvalidOptionError(given, "debounce and max_wait are timedeltas", "Use timedelta(seconds=...).")
    if quiet is None:
        raise InvalidOptionError(max_wait, "max_wait without debounce does nothing", "Pass debounce too.")
    if wanted.dedup_key is None:
        raise InvalidOptionError(None, "debounce needs a dedup_key: what is called often", "Pass one.")
    if wanted.run_at is not None or wanted.run_in is not None:
        raise InvalidOptionError(
            wanted.run_at or wanted.run_in, "a debounced job runs when its burst is over", "Leave its time out."
        )
    if not isinstance(wanted.dedup_window, UntilEnded | None):
        raise InvalidOptionError(
            wanted.dedup_window, "a debounced job's key is its own until it starts", "Leave dedup_window out."
        )
    if wanted.start_by is not None:
        # Each call moves the job's time on, past any limit: it would expire, and the whole burst with it.
        raise InvalidOptionError(
            wanted.start_by, "a debounced job's time moves with its burst, so it has no start_by", "Use max_wait."
        )
    if quiet <= timedelta(0):
        raise InvalidOptionError(quiet, "debounce is longer than nothing", "Leave it out instead.")
    if max_wait is not None and max_wait < quiet:
        raise InvalidOptionError(max_wait, f"max_wait is shorter than debounce ({quiet})", "Use a longer max_wait.")
    return replace(request, wanted=replace(wanted, run_in=quiet))


def enqueue_debounced(drafted: Draft, services: Services, *, audit_entry: AuditEntry | None) -> Enqueued:
    """Join the job that waits for its burst to end, or make it.

    A job that has started is not changed any more: the call begins another burst, whose job takes the key over.
    """
    assert drafted.record is not None
    alone = replace(drafted, burst=None)
    for _ in tries(services):
        # A look costs less than an insert that is refused, and nearly every call of a burst finds the job.
        holder = services.store.dedups.get(drafted.record.ref)
        existing = job_of_holder(holder, services) if holder else None
        if existing is not None and _waits_for_its_burst(existing):
            if _join(existing, drafted, services):
                return Enqueued(job_id=existing.job_id, created=False)
            continue
        started = existing.job_id if existing else None
        made = write(
            alone, services, on_duplicate=OnDuplicate.RETURN_EXISTING, successor_of=started, audit_entry=audit_entry
        )
        if made.created:
            return made
        # Somebody else's call made the burst's job meanwhile: the next look finds it, and joins it.
    raise contended(f"dedup key {drafted.record.ref.key!r}")


def _waits_for_its_burst(job: Job) -> bool:
    """Not one that was tried before: what it was told then may be half done."""
    return job.status is JobStatus.PENDING and job.last_attempt_at is None


def _join(job: Job, drafted: Draft, services: Services) -> bool:
    """False if the job was claimed, or another call joined it, since it was read."""
    now, burst = services.clock.now(), drafted.burst
    assert burst is not None
    assert burst.debounce is not None
    at = now + burst.debounce
    if burst.max_wait is not None:
        at = max(now, min(at, job.created_at + burst.max_wait))
    offload = plan_offload(replace(job, stored_payload=drafted.job.stored_payload), services)
    if offload.item is not None:
        services.store.table.write(offload.item)
    due = Due(at, position_at(now), job.job_id)
    values: dict[str, object] = {"payload": offload.job.stored_payload, "due_lane": job.run_lane, "due_key": due}
    if needs_wake(at, now):
        values["wake"] = True
    seen = {"due_key": job.due, "due_lane": job.due_lane}
    try:
        services.store.jobs.apply_and_read(Write(job_id=job.job_id, transition=DEBOUNCE, seen=seen, values=values))
    except TransitionRefused as refused:
        # What stands there may be our own, by a try whose response was lost.
        current = refused.current
        return current is not None and (current.due, current.stored_payload) == (due, offload.job.stored_payload)
    return True
