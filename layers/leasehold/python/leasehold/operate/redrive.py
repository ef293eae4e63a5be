"""Redrive and discard: what happens to dead letters. Each is resolved exactly once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.audit.records import check_deed, dead_letter_target, deed_of, deed_on_job, retried
from leasehold.kernel.admission import is_trusted_letter, trusted_job
from leasehold.kernel.dead_letters import AlreadyResolved, ResolvedBy
from leasehold.kernel.dedups import insertions, repointed
from leasehold.kernel.end import retire_dedup_record
from leasehold.kernel.enqueue import Enqueued, OnDuplicate, is_free, job_of_holder, write
from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.jobs import TransitionRefused, insertion
from leasehold.kernel.keys import parse_job_id
from leasehold.kernel.lean import dataclass
from leasehold.kernel.offload import laid_out
from leasehold.kernel.payload_items import report_unreadable, with_payload_of
from leasehold.kernel.refusals import DeadJobMissingError, DuplicateJobError, JobNotFoundError, WrongStateError
from leasehold.kernel.table import TransactionCancelled
from leasehold.kernel.telemetry import Event
from leasehold.kernel.transitions import RESOLVE, JobStatus, Write
from leasehold.operate.jobs import find, reschedule, successor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.audit.records import Deed
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.draft import Draft
    from leasehold.kernel.due import Priority, PriorityName
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Parts
    from leasehold.kernel.table import Attribute, Change, Record


_PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """`created`: this call made the job, and not an earlier one. `error`: why a letter of many was left as it is."""

    dead_letter_id: JobId
    job_id: JobId | None = None
    created: bool = False
    error: LeaseholdError | None = None


def redrive(
    dead_letter_id: object,
    parts: Parts,
    *,
    reason: str,
    priority: Priority | PriorityName | int | None = None,
    new_job_id: JobId | None = None,
) -> Redriven:
    """Run a dead job again as a new job. A second redrive of the same letter is told which job the first made."""
    parts.deployment.refuse_if_halted()

    def attempt() -> Redriven | None:
        letter = find_letter(dead_letter_id, parts)
        if not letter.is_open:
            return _resolved_before(letter, parts)
        again, changes = _revival(letter, parts, priority, new_job_id)
        deed = _deed(letter, "redrive", parts, reason=reason, new_job_id=again.job.job_id)
        audit = parts.store.audits.audit(deed)
        try:
            parts.store.letters.redrive(letter.id, _resolution(letter, deed, parts), again.job.job_id, changes, audit)
        except AlreadyResolved as resolved:
            if resolved.letter is None:
                raise JobNotFoundError("dead letter", letter.id) from None
            return _resolved_before(resolved.letter, parts)
        except TransactionCancelled:
            # The dedup record's pointer, which the next attempt tells, or somebody else's deed on this letter.
            return None
        _let_job_expire(letter, parts)
        parts.telemetry.event(
            Event.JOB_ENQUEUED,
            job_id=again.job.job_id,
            job_type=letter.job_type,
            retry_of=letter.id,
            created_by=deed.by,
        )
        return Redriven(dead_letter_id=letter.id, job_id=again.job.job_id, created=True)

    return retried(f"dead letter {dead_letter_id}", attempt, parts)


def redrive_many(
    parts: Parts,
    *,
    reason: str,
    job_type: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Redriven]:
    """Redrive every open letter that matches; one that cannot be redriven does not stop the others."""
    results: list[Redriven] = []
    for letter in open_letters(parts, job_type=job_type, start=start, end=end):
        if limit is not None and len(results) >= limit:
            break
        try:
            results.append(redrive(letter.id, parts, reason=reason))
        except LeaseholdError as error:
            results.append(Redriven(dead_letter_id=letter.id, error=error))
        if progress is not None:
            progress(len(results))
    return results


def discard(dead_letter_id: object, parts: Parts, *, reason: str) -> DeadLetter:
    """Resolve a dead letter without running it again."""

    def attempt() -> DeadLetter | None:
        letter = find_letter(dead_letter_id, parts)
        deed = _deed(letter, "discard", parts, reason=reason)
        try:
            parts.store.letters.discard(letter.id, _resolution(letter, deed, parts), parts.store.audits.audit(deed))
        except AlreadyResolved as before:
            _let_job_expire(letter, parts)
            how = before.letter.resolution if before.letter else None
            raise WrongStateError(letter.id, "discard", f"{how or 'gone'} already") from None
        except TransactionCancelled:
            return None
        _let_job_expire(letter, parts)
        return find_letter(letter.id, parts)

    resolved = retried(f"dead letter {dead_letter_id}", attempt, parts)
    job = parts.store.jobs.get(resolved.id)
    if job is not None:
        retire_dedup_record(job, job.expires_at, parts)
    return resolved


def find_letter(dead_letter_id: object, parts: Parts) -> DeadLetter:
    wanted = parse_job_id(dead_letter_id)
    letter = parts.store.letters.get(wanted)
    if letter is None or not is_trusted_letter(letter, parts):
        raise JobNotFoundError("dead letter", wanted)
    return letter


def open_letters(
    parts: Parts, *, job_type: str | None = None, start: datetime | None = None, end: datetime | None = None
) -> Iterator[DeadLetter]:
    """All open letters, the oldest first, a page at a time."""
    cursor: Record | None = None
    while True:
        page = parts.store.letters.open(job_type=job_type, start=start, end=end, limit=_PAGE, after=cursor)
        report_unreadable(page.unreadable, parts)
        yield from (letter for letter in page.letters if is_trusted_letter(letter, parts))
        cursor = page.cursor
        if cursor is None:
            return


def _revival(
    letter: DeadLetter, parts: Parts, priority: Priority | PriorityName | int | None, job_id: JobId | None
) -> tuple[Draft, list[Change]]:
    # It is kept as long as its letter is open. A letter alone proves nothing: its writer could say anything in it.
    job = trusted_job(parts.store.jobs.get(letter.id), parts)
    if job is None or job.status is not JobStatus.DEAD_LETTER or job.job_type != letter.job_type:
        raise DeadJobMissingError(letter.id, letter.job_type)
    by = parts.identity.actor()
    again = successor(with_payload_of(letter, job), parts, created_by=by, priority=priority, job_id=job_id)
    again = replace(again, job=laid_out(again.job, parts))
    changes: list[Change] = [insertion(again.job)]
    if again.record is not None:
        holder = parts.store.dedups.get(again.record.ref)
        if holder is None:
            changes = insertions(again.job, again.record)
        elif holder.job_id == letter.id or is_free(holder, job_of_holder(holder, parts), parts):
            changes.append(repointed(again.record, holder))
        else:
            raise DuplicateJobError(letter.job_type, again.record.ref.key, holder.job_id)
    return again, changes


def _resolved_before(letter: DeadLetter, parts: Parts) -> Redriven:
    # Whoever resolved it may have crashed right after.
    _let_job_expire(letter, parts)
    if letter.redriven_as is None:
        raise WrongStateError(letter.id, "redrive", "discarded already")
    return Redriven(dead_letter_id=letter.id, job_id=letter.redriven_as)


def _deed(letter: DeadLetter, action: str, parts: Parts, *, reason: str, **details: Attribute) -> Deed:
    actor = parts.identity.actor()
    check_deed("dead letter", actor, reason)
    return deed_of(dead_letter_target(letter.id), action, details, parts, by=actor, reason=reason)


def _resolution(letter: DeadLetter, deed: Deed, parts: Parts) -> ResolvedBy:
    return ResolvedBy(by=deed.by, at=deed.at, reason=deed.reason, expires_at=_expires_at(letter, parts))


def _expires_at(letter: DeadLetter, parts: Parts) -> int:
    retention = parts.deployment.settings_of(letter.job_type).retention.dead_letter
    return int((parts.clock.now() + retention).timestamp())


def _let_job_expire(letter: DeadLetter, parts: Parts) -> None:
    """The dead job was kept for its letter's sake; from now on the usual retention counts."""
    try:
        parts.store.jobs.advance(
            Write(job_id=letter.id, transition=RESOLVE, values={"expires_at": _expires_at(letter, parts)})
        )
    except TransitionRefused:
        return  # it is gone already


def retry(
    job_id: object,
    parts: Parts,
    *,
    reason: str,
    priority: Priority | PriorityName | int | None = None,
    new_job_id: JobId | None = None,
) -> Enqueued:
    """Run again: a waiting job now, an ended one as a new job that says what it is a retry of."""
    parts.deployment.refuse_if_halted()
    job = find(job_id, parts)
    match job.status:
        case JobStatus.PENDING | JobStatus.FAILED:
            reschedule(job.job_id, parts, priority=priority, reason=reason)
            return Enqueued(job_id=job.job_id, created=False)
        case JobStatus.IN_PROGRESS:
            raise WrongStateError(job.job_id, "retry", job.status, "Wait for its end, or cancel it.")
        case JobStatus.COMPLETED | JobStatus.CANCELLED:
            return _again(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
        case JobStatus.DEAD_LETTER:
            return _revived(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
        case _:
            assert_never(job.status)


def _revived(
    job: Job, parts: Parts, *, reason: str, priority: Priority | PriorityName | int | None, new_job_id: JobId | None
) -> Enqueued:
    """A retry of a dead job resolves its letter: left open, it would be redriven once more."""
    letter = parts.store.letters.get(job.job_id)
    if letter is not None and letter.redriven_as is not None and letter.redriven_as == new_job_id:
        return Enqueued(job_id=new_job_id, created=True)
    if letter is None or not letter.is_open:
        job = job if letter is None else with_payload_of(letter, job)
        return _again(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
    redriven = redrive(job.job_id, parts, reason=reason, priority=priority, new_job_id=new_job_id)
    assert redriven.job_id is not None
    # Somebody may have been faster since the letter was read: then it is their job, and nothing was done here.
    return Enqueued(job_id=redriven.job_id, created=redriven.created)


def _again(
    job: Job, parts: Parts, *, reason: str, priority: Priority | PriorityName | int | None, new_job_id: JobId | None
) -> Enqueued:
    again = successor(job, parts, created_by=parts.identity.actor(), priority=priority, job_id=new_job_id)
    deed = deed_on_job(job.job_id, "retry", parts, reason=reason, new_job_id=again.job.job_id)
    return write(again, parts, on_duplicate=OnDuplicate.RAISE, successor_of=job.job_id, deed=deed)
