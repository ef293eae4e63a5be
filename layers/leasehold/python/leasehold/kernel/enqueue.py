"""Enqueue: write a new job, or find the one that holds its dedup key."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from leasehold.audit.records import AuditEntry, audit_entry_of, contended, job_target, token_of, tries
from leasehold.kernel import keys
from leasehold.kernel.admission import is_trusted
from leasehold.kernel.dedup import PointerMoved, insertions, repointed
from leasehold.kernel.draft import Draft, JobRequest, draft
from leasehold.kernel.end import Ending, log_cancelled
from leasehold.kernel.errors import InvalidOptionError, StoreError, StoreUnavailableError
from leasehold.kernel.job import SYSTEM
from leasehold.kernel.jobs import insertion, is_as_made, is_of_same_origin
from leasehold.kernel.keys import RANDOM_BITS, make_job_id, partition_of
from leasehold.kernel.offload import laid_out, lay_out
from leasehold.kernel.payload import is_laid_out
from leasehold.kernel.refusals import DuplicateJobError, JobIdTakenError
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.transitions import CANCEL
from leasehold.lean import dataclass
from leasehold.telemetry import Event
from leasehold.telemetry.spans import span

if TYPE_CHECKING:
    from leasehold.audit.records import Audit
    from leasehold.kernel.dedup import DedupRecord
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.offload import Layout
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record


_TRIES = 5


class OnDuplicate(StrEnum):
    RETURN_EXISTING = "return_existing"
    RAISE = "raise"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """Which job it is now, and whether this call made it. `replaced` is the waiting job that it took the place of."""

    job_id: JobId
    created: bool
    replaced: JobId | None = None


def enqueue(
    request: JobRequest, services: Services, *, on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING
) -> Enqueued:
    services.deployment.refuse_if_halted()
    with span("enqueue", request.job_type, parent=request.trace) as sending:
        drafted = draft(sent_by(sending.trace, request), services)
        enqueued = write(drafted, services, on_duplicate=on_duplicate, audit_entry=creation(drafted.job, services))
        sending.note(job_id=enqueued.job_id)
        return enqueued


def sent_by(trace: str | None, request: JobRequest) -> JobRequest:
    return request if trace is None else replace(request, trace=trace)


def enqueue_changes(request: JobRequest, services: Services) -> tuple[JobId, list[Change]]:
    """What makes the job, as changes for a caller's own transaction; it is cancelled where the dedup key is taken."""
    services.deployment.refuse_if_halted()
    with span("create", request.job_type, parent=request.trace) as creating:
        drafted = draft(sent_by(creating.trace, request), services)
        creating.note(job_id=drafted.job.job_id)
    if drafted.debounce is not None:
        raise InvalidOptionError(
            drafted.debounce.quiet, "a job of your own transaction cannot be debounced", "Use enqueue, or leave it out."
        )
    layout = lay_out(drafted.job, services)
    changes: list[Change] = [insertion(layout.job)]
    if drafted.record is not None:
        holder = services.store.dedups.get(drafted.record.ref)
        if holder is not None and is_free(holder, job_of_holder(holder, services), services):
            changes.append(repointed(drafted.record, holder))
        else:
            # Also where somebody holds the key: it is the caller's transaction that is to say so.
            changes = insertions(layout.job, drafted.record)
    if layout.item is not None:
        changes.append(layout.item)
    audit_entry = creation(drafted.job, services)
    if audit_entry is not None:
        changes += services.store.audits.audit(audit_entry, is_first=True).changes
    return drafted.job.job_id, changes


def write(
    drafted: Draft,
    services: Services,
    *,
    on_duplicate: OnDuplicate,
    successor_of: JobId | None = None,
    audit_entry: AuditEntry | None = None,
) -> Enqueued:
    """Write a draft. `successor_of` names an ended job whose dedup key the new one inherits.

    With a `audit entry` its record is written in the same transaction; a duplicate, which makes no job, leaves none.
    """
    if drafted.debounce is not None:
        from leasehold.features import enqueue_debounced

        return enqueue_debounced(drafted, services, audit_entry=audit_entry)
    if drafted.record is not None:
        result = _write_deduplicated(
            drafted.job,
            drafted.record,
            services,
            on_duplicate=on_duplicate,
            successor_of=successor_of,
            audit_entry=audit_entry,
        )
    elif audit_entry is not None:
        result = _write_recorded(drafted.job, audit_entry, services)
    else:
        drafted = replace(drafted, job=inserted(drafted, services))
        result = Enqueued(job_id=drafted.job.job_id, created=True)
    if result.created:
        log_enqueued(drafted.job, services)
    return result


def inserted(drafted: Draft, services: Services, *, refused: ConditionFailed | None = None) -> Job:
    """Insert a job, under another id if there is one already that this call did not write."""
    job = drafted.job
    for _ in range(_TRIES):
        stored, item = (job, None) if is_laid_out(job.stored_payload) else lay_out(job, services)
        try:
            if refused is not None:
                raise refused
            if item is not None:
                services.store.payloads.insert(item)
            services.store.jobs.insert(stored)
        except ConditionFailed as failed:
            refused = None
            if _is_own(stored, failed, drafted, services):
                return job
            if drafted.has_given_id:
                raise JobIdTakenError(job.job_id) from None
            job = _renamed(job, services)
        else:
            return job
    raise StoreUnavailableError(f"{_TRIES} ids in a row were taken; look at this machine's source of random numbers")


def _is_own(stored: Job, failed: ConditionFailed, drafted: Draft, services: Services) -> bool:
    """Whether a try of this call made it, whose answer was lost; or, under an id that is derived, an earlier call."""
    if not failed.was_repeated and not drafted.has_given_id:
        return False
    try:
        current = failed.current or services.store.table.get(keys.job(stored.job_id))
    except StoreUnavailableError:
        raise
    except StoreError:
        # Who may only insert cannot look. That somebody else has drawn the same 50 bits meanwhile is not to be feared.
        return not drafted.has_given_id
    return is_of_same_origin(stored, current) if drafted.has_given_id else is_as_made(stored, current)


def _renamed(job: Job, services: Services) -> Job:
    job_id = make_job_id(job.scheduled_for, partition_of(job.job_id), services.random_source.bits(RANDOM_BITS))
    assert job.due is not None
    return replace(job, job_id=job_id, due=job.due._replace(item_id=job_id))


def _write_recorded(job: Job, audit_entry: AuditEntry, services: Services) -> Enqueued:
    job = laid_out(job, services)
    for _ in tries(services):
        if services.store.audits.commit(
            [insertion(job)], _audit(audit_entry, job, services), token=token_of(audit_entry)
        ):
            return Enqueued(job_id=job.job_id, created=True)
    raise contended(audit_entry.target)


def _audit(audit_entry: AuditEntry, job: Job, services: Services) -> Audit:
    return services.store.audits.audit(audit_entry, is_first=audit_entry.target == job_target(job.job_id))


def _write_deduplicated(
    job: Job,
    record: DedupRecord,
    services: Services,
    *,
    on_duplicate: OnDuplicate,
    successor_of: JobId | None,
    audit_entry: AuditEntry | None,
) -> Enqueued:
    layout = lay_out(job, services)
    for _ in range(_TRIES):
        audit = _audit(audit_entry, job, services) if audit_entry else None
        also = audit.changes if audit else []
        try:
            holder = _holder_before_bytes(layout, record, services)
            if holder is None:
                holder = services.store.dedups.insert(_with_payload(layout, services), record, also)
            if holder is None or holder.job_id == job.job_id:
                return _made(job, audit, services)
            existing = job_of_holder(holder, services)
            if is_free(holder, existing, services) or holder.job_id == successor_of:
                services.store.dedups.take_over(_with_payload(layout, services), record, holder, also)
                return _made(job, audit, services)
            match on_duplicate:
                case OnDuplicate.RETURN_EXISTING:
                    return Enqueued(job_id=holder.job_id, created=False)
                case OnDuplicate.RAISE:
                    raise DuplicateJobError(job.job_type, record.ref.key, holder.job_id)
                case OnDuplicate.REPLACE:
                    if existing is None or not existing.status.is_waiting:
                        return Enqueued(job_id=holder.job_id, created=False)
                    new = _with_payload(layout, services)
                    reason = f"replaced by {job.job_id}"
                    ending = Ending(existing, CANCEL, services, reason=reason)
                    services.store.dedups.replace(ending.changes, new, record, holder, also)
                    log_cancelled(existing, reason, services)
                    ending.after(keeps_key=True)
                    return _made(job, audit, services, replaced=holder.job_id)
                case _:
                    assert_never(on_duplicate)
        except PointerMoved:
            continue
    raise StoreUnavailableError(
        f"dedup key {record.ref.key!r} of {job.job_type} changed hands {_TRIES} times during one enqueue; try again"
    )


def _made(job: Job, audit: Audit | None, services: Services, *, replaced: JobId | None = None) -> Enqueued:
    if audit is not None:
        audit.keep(services.store.table)
    return Enqueued(job_id=job.job_id, created=True, replaced=replaced)


def _holder_before_bytes(layout: Layout, record: DedupRecord, services: Services) -> DedupRecord | None:
    """Who holds the key, looked up only where a payload would be written in vain: that costs more than a look."""
    return None if layout.item is None else services.store.dedups.get(record.ref)


def _with_payload(layout: Layout, services: Services) -> Job:
    if layout.item is not None:
        services.store.payloads.insert(layout.item)
    return layout.job


def job_of_holder(holder: DedupRecord, services: Services) -> Job | None:
    """The job that a dedup record points to, if that is one of its type: else the record holds nothing."""
    job = services.store.jobs.get(holder.job_id) if is_trusted(holder.job_id, holder.ref.job_type, services) else None
    return job if job is not None and job.job_type == holder.ref.job_type else None


def is_free(holder: DedupRecord, existing: Job | None, services: Services) -> bool:
    """A key is held until its job has ended and its window is over."""
    return existing is None or (existing.has_ended and holder.is_over(services.clock.now()))


def log_enqueued(job: Job, services: Services) -> None:
    services.telemetry.event(
        Event.JOB_ENQUEUED,
        job_id=job.job_id,
        job_type=job.job_type,
        scheduled_for=job.scheduled_for.isoformat(),
        created_by=job.created_by,
        trace=job.trace,
    )


def creation(job: Job, services: Services) -> AuditEntry | None:
    """What a person's new job leaves on record: by whom the program that enqueues it says that it is made.

    None for jobs of the system, and of types whose settings switch it off.
    """
    if job.created_by == SYSTEM or not services.deployment.settings_of(job.job_type).audit_creation:
        return None
    details: Record = {"job_type": job.job_type, "named_by": "program"}
    return audit_entry_of(job_target(job.job_id), "create", details, services, by=job.created_by, reason="created")
