"""Redrive and discard: what happens to dead letters. Each is resolved exactly once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.audit.records import (
    audit_entry_by_actor,
    audit_entry_on_job,
    dead_letter_target,
    recorded_reason,
    retried,
)
from leasehold.kernel import partitions
from leasehold.kernel.dead_letter import Resolution
from leasehold.kernel.dedup import insertions, is_free, job_of_holder, repointed, retire_dedup_record
from leasehold.kernel.enqueue import Enqueued, OnDuplicate, write
from leasehold.kernel.errors import DuplicateJobError, LeaseholdError, RefusedError, WrongStateError
from leasehold.kernel.job import Outcome
from leasehold.kernel.jobs import Write, insertion
from leasehold.kernel.keys import to_text
from leasehold.kernel.offload import offloaded
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import Exists, Missing, Update
from leasehold.kernel.transitions import RESOLVE, JobStatus
from leasehold.kernel.trust import trusted_job
from leasehold.lean import dataclass
from leasehold.operate.dead_letters import find_dead_letter, with_payload_of
from leasehold.operate.jobs import Again, find, find_run, look_at, refuse_edit_of_delivery, reschedule, successor
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.enqueue import Draft
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Attribute, Change, Record


# Their places in the indexes.
_OF_OPEN_ONES = frozenset({"open", "open_type", "open_key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """`created`: this call made the job, not an earlier one. `error`: why a dead letter of many was left as it is."""

    dead_letter_id: JobId
    job_id: JobId | None = None
    created: bool = False
    error: LeaseholdError | None = None


def redrive(dead_letter_id: object, services: Services, wanted: Again, *, payload_text: str | None = None) -> Redriven:
    """Run a dead job again as a new job. A second redrive of the same dead letter is told which job the first made.

    payload_text: what it is to do instead. The audit entry has the paths that differ, and none of the values.
    """
    services.deployment.refuse_if_halted()

    def attempt() -> Redriven | None:
        dead_letter = find_dead_letter(dead_letter_id, services)
        if not dead_letter.is_open:
            return _resolved_before(dead_letter, services, payload_text)
        job = _dead_job(dead_letter, services)
        edited: dict[str, Attribute] = {}
        if payload_text is not None:
            edited = _edited(job, payload_text, services)
            job = replace(job, stored_payload=payload_text, read_payload=None)
        again, changes = _revival(job, services, wanted)
        details = {"new_job_id": again.job.job_id, **edited}
        target = dead_letter_target(dead_letter.id)
        audit_entry = audit_entry_by_actor("dead letter", target, "redrive", services, reason=wanted.reason, **details)
        resolved = _resolved(dead_letter, Resolution.REDRIVEN, audit_entry, services, again.job.job_id)
        if not services.store.audits.commit([resolved, *changes], services.store.audits.audit(audit_entry)):
            # The dedup record's pointer, which the next attempt shows, or somebody else's action on this dead letter.
            return None
        _let_job_expire(dead_letter, services)
        services.telemetry.event(
            Event.JOB_ENQUEUED,
            job_id=again.job.job_id,
            job_type=dead_letter.job_type,
            retry_of=dead_letter.id,
            created_by=audit_entry.by,
        )
        return Redriven(dead_letter_id=dead_letter.id, job_id=again.job.job_id, created=True)

    return retried(f"dead letter {dead_letter_id}", attempt, services)


def redrive_many(found: Iterable[DeadLetter], services: Services, *, reason: str) -> Iterator[Redriven]:
    """Redrive these dead letters; one that cannot be redriven does not stop the others."""
    again = Again(reason=recorded_reason(reason, services))
    for dead_letter in found:
        try:
            yield redrive(dead_letter.id, services, again)
        except LeaseholdError as error:
            yield Redriven(dead_letter_id=dead_letter.id, error=error)


def discard(dead_letter_id: object, services: Services, *, reason: str) -> DeadLetter:
    """Resolve a dead letter without running it again."""

    def attempt() -> DeadLetter | None:
        dead_letter = find_dead_letter(dead_letter_id, services)
        if not dead_letter.is_open:
            _let_job_expire(dead_letter, services)
            raise WrongStateError(dead_letter.id, "discard", f"{dead_letter.resolution} already")
        target = dead_letter_target(dead_letter.id)
        audit_entry = audit_entry_by_actor("dead letter", target, "discard", services, reason=reason)
        discarded = _resolved(dead_letter, Resolution.DISCARDED, audit_entry, services)
        if not services.store.audits.commit([discarded], services.store.audits.audit(audit_entry)):
            return None
        _let_job_expire(dead_letter, services)
        return find_dead_letter(dead_letter.id, services)

    resolved = retried(f"dead letter {dead_letter_id}", attempt, services)
    job = services.store.jobs.get(resolved.id)
    if job is not None:
        retire_dedup_record(job, job.expires_at, services)
    return resolved


def _dead_job(dead_letter: DeadLetter, services: Services) -> Job:
    # It is kept as long as its dead letter is open. Alone it proves nothing: its writer could say anything in it.
    job = trusted_job(services.store.jobs.get(dead_letter.id), services)
    if job is None or job.status is not JobStatus.DEAD_LETTER or job.job_type != dead_letter.job_type:
        raise DeadJobMissingError(dead_letter.id, dead_letter.job_type)
    return with_payload_of(dead_letter, job)


def _edited(job: Job, payload_text: str, services: Services) -> dict[str, Attribute]:
    """What the audit entry says about another payload; one that its type's handler could not take is refused."""
    from leasehold.schemas.changes import payload_changes
    from leasehold.schemas.check import check_payload

    refuse_edit_of_delivery(job)
    job_type = services.deployment.settings_of(job.job_type)
    check_payload(job_type, payload_text, services)
    before = services.store.payloads.shown(job).payload_text
    return {"payload_changes": list(payload_changes(job_type, before, payload_text, services))}


def _revival(job: Job, services: Services, wanted: Again) -> tuple[Draft, list[Change]]:
    again = successor(job, services, wanted)
    again = replace(again, job=offloaded(again.job, services))
    changes: list[Change] = [insertion(again.job)]
    if again.record is not None:
        holder = services.store.dedups.get(again.record.ref)
        if holder is None:
            changes = insertions(again.job, again.record)
        elif holder.job_id == job.job_id or is_free(holder, job_of_holder(holder, services), services):
            changes.append(repointed(again.record, holder))
        else:
            raise DuplicateJobError(job.job_type, again.record.ref.key, holder.job_id)
    return again, changes


def _resolved_before(dead_letter: DeadLetter, services: Services, payload_text: str | None) -> Redriven:
    # Whoever resolved it may have crashed right after.
    _let_job_expire(dead_letter, services)
    made = dead_letter.redriven_as
    if made is None:
        raise WrongStateError(dead_letter.id, "redrive", "discarded already")
    if payload_text is not None and look_at(made, services).payload_text != payload_text:
        # Answering with that job would look as if it did what was asked for now.
        raise WrongStateError(dead_letter.id, "redrive", f"redriven already, as {made} with another payload")
    return Redriven(dead_letter_id=dead_letter.id, job_id=dead_letter.redriven_as)


def _resolved(
    dead_letter: DeadLetter, how: Resolution, audit_entry: AuditEntry, services: Services, made: JobId | None = None
) -> Update:
    sets: Record = {
        "resolution": str(how),
        "resolved_by": audit_entry.by,
        "resolved_at": to_text(audit_entry.at),
        "resolved_reason": audit_entry.reason,
        "expires_at": _expires_at(dead_letter, services),
        **({} if made is None else {"redriven_as": made}),
    }
    key, unresolved = partitions.dead_letter(dead_letter.id), (Exists("id"), Missing("resolution"))
    return Update(key=key, conditions=unresolved, sets=sets, removes=_OF_OPEN_ONES)


def _expires_at(dead_letter: DeadLetter, services: Services) -> int:
    retention = services.deployment.settings_of(dead_letter.job_type).retention.dead_letter
    return int((services.clock.now() + retention).timestamp())


def _let_job_expire(dead_letter: DeadLetter, services: Services) -> None:
    """The dead job was kept for its dead letter's sake; from now on the usual retention counts."""
    try:
        services.store.jobs.apply_and_read(
            Write(job_id=dead_letter.id, transition=RESOLVE, values={"expires_at": _expires_at(dead_letter, services)})
        )
    except TransitionRefused:
        return  # it is gone already


def retry(job_id: object, services: Services, wanted: Again) -> Enqueued:
    """Run again: a waiting job now, an ended one as a new job that says what it is a retry of."""
    services.deployment.refuse_if_halted()
    job = find(job_id, services)
    match job.status:
        case JobStatus.PENDING | JobStatus.FAILED:
            reschedule(job.job_id, services, priority=wanted.priority, reason=wanted.reason)
            return Enqueued(job_id=job.job_id, created=False)
        case JobStatus.IN_PROGRESS:
            raise WrongStateError(job.job_id, "retry", job.status, "Wait for its end, or cancel it.")
        case JobStatus.COMPLETED | JobStatus.CANCELLED:
            return _repeated(job, services, wanted)
        case JobStatus.DEAD_LETTER:
            return _revived(job, services, wanted)
        case _:
            assert_never(job.status)


def retry_run(run_id: object, services: Services, wanted: Again) -> Enqueued:
    """Run the job of a failed run again."""
    job, run = find_run(run_id, services)
    if run is None:
        from leasehold.webhooks.model import RUNNING

        raise WrongStateError(str(run_id), "retry", RUNNING, "Only a failed run is retried: wait for its end.")
    if run.outcome is not Outcome.FAILED:
        raise WrongStateError(str(run_id), "retry", run.outcome, "Only a failed run is retried; enqueue the job anew.")
    return retry(job.job_id, services, wanted)


def _revived(job: Job, services: Services, wanted: Again) -> Enqueued:
    """A retry of a dead job resolves its dead letter: left open, it would be redriven once more."""
    dead_letter = services.store.dead_letters.get(job.job_id)
    made = dead_letter.redriven_as if dead_letter else None
    if made is not None and made == wanted.new_job_id:
        return Enqueued(job_id=made, created=True)
    if dead_letter is None or not dead_letter.is_open:
        return _repeated(job if dead_letter is None else with_payload_of(dead_letter, job), services, wanted)
    redriven = redrive(job.job_id, services, wanted)
    assert redriven.job_id is not None
    # Somebody may have been faster since the dead letter was read: then it is their job, and nothing was done here.
    return Enqueued(job_id=redriven.job_id, created=redriven.created)


def _repeated(job: Job, services: Services, wanted: Again) -> Enqueued:
    again = successor(job, services, wanted)
    audit_entry = audit_entry_on_job(job.job_id, "retry", services, reason=wanted.reason, new_job_id=again.job.job_id)
    return write(again, services, on_duplicate=OnDuplicate.RAISE, successor_of=job.job_id, audit_entry=audit_entry)


class DeadJobMissingError(RefusedError, code="dead_job_missing"):
    """A dead letter stands alone: without its job, nothing says that such a job ever died."""

    def __init__(self, dead_letter_id: str, job_type: str) -> None:
        super().__init__(
            f"there is no dead {job_type} job for dead letter {dead_letter_id}, so it is not run again. "
            "Discard the letter; enqueue the job anew if it is wanted."
        )
