"""Redrive and discard: what happens to dead letters. Each is resolved exactly once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.errors import (
    DeadJobMissingError,
    DuplicateJobError,
    JobNotFoundError,
    LeaseholdError,
    WrongStateError,
)
from leasehold.domain.ids import parse_job_id
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import RESOLVE, JobStatus, Write
from leasehold.engine.deeds import check_deed, dead_letter_target, deed_of, retried
from leasehold.engine.enqueue import is_free, job_of_holder
from leasehold.engine.lay_out import laid_out
from leasehold.engine.look import report_unreadable, with_payload_of
from leasehold.engine.operate import successor
from leasehold.engine.telemetry import Event
from leasehold.engine.trust import is_trusted_letter, trusted_job
from leasehold.kernel.end import retire_dedup_record
from leasehold.store.dedups import insertions, repointed
from leasehold.store.jobs import TransitionRefused, insertion
from leasehold.store.letters import AlreadyResolved, ResolvedBy
from leasehold.store.table import TransactionCancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.due import Priority
    from leasehold.domain.ids import JobId
    from leasehold.engine.draft import Draft
    from leasehold.engine.parts import Parts
    from leasehold.store.audits import Deed
    from leasehold.store.table import Attribute, Change, Record

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
    priority: Priority | int | None = None,
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
    letter: DeadLetter, parts: Parts, priority: Priority | int | None, job_id: JobId | None
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
