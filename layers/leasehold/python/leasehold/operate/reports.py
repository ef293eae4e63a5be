"""Report dead letters until their report is taken: from their table's stream, and by a sweep for what outlived it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.admission import is_trusted_letter
from leasehold.kernel.failure_report import FailureReport, Severity, allowed_fields
from leasehold.kernel.lean import dataclass
from leasehold.kernel.payload_items import report_unreadable
from leasehold.kernel.redaction import redacted, without_payload
from leasehold.kernel.refusals import NotDeployedError
from leasehold.kernel.telemetry import Event
from leasehold.operate.measure import measure_dead_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Parts
    from leasehold.kernel.table import Record

# The stream keeps a record for a day; the sweep looks back long enough to outlast a weekend.
SWEEP_BACK = timedelta(days=3)
# What is younger is still the stream's to tell.
SWEEP_MARGIN = timedelta(minutes=15)
_PAGE = 100
# So many reports that nobody takes, and the sweep is left to its next run.
_PATIENCE = 10


@dataclass(slots=True)
class Swept:
    """`seen` are open letters without a report; `untaken` of them still have none."""

    seen: int = 0
    reported: int = 0
    untaken: int = 0

    def as_fields(self) -> dict[str, int]:
        return asdict(self)


def report_letters(job_ids: Iterable[JobId], parts: Parts) -> list[JobId]:
    """Alert about each letter and report it; returns those whose report was not taken and must come again."""
    untaken = [job_id for job_id in job_ids if not _reported_or_told(job_id, parts)]
    measure_dead_letters(parts)
    return untaken


def report_letter(letter: DeadLetter, parts: Parts) -> bool:
    """Report one letter and mark it; False if the report was not taken. With no reporter nothing is owed."""
    if not parts.reporter.is_on:
        return True
    if not parts.reporter.report(_report(letter, parts)):
        return False
    # Should this write be lost, the next report carries the same id, by which its taker knows it.
    parts.store.letters.mark_reported(letter.id, parts.clock.now())
    return True


def sweep_unreported(parts: Parts, *, until: datetime | None = None) -> Swept:
    """Report what the stream gave up on; it ends at `until`, or when nobody seems to take reports."""
    swept = Swept()
    if parts.reporter.is_on:
        for letter in _unreported(parts):
            if swept.untaken >= _PATIENCE or (until is not None and parts.clock.now() >= until):
                break
            swept.seen += 1
            if _taken(letter, parts):
                swept.reported += 1
            else:
                swept.untaken += 1
    parts.telemetry.event(Event.SWEEP_FINISHED, **swept.as_fields())
    return swept


def _reported_or_told(job_id: JobId, parts: Parts) -> bool:
    try:
        # The record of a stream is as old as its delivery is late: only the table knows what was done since.
        letter = parts.store.letters.get(job_id)
    except Exception as error:
        _tell_untaken(job_id, None, parts, error)
        return False
    if letter is None or not letter.is_open or letter.reported_at is not None:
        return True
    if not is_trusted_letter(letter, parts):
        return True  # nobody died; who put it there is counted
    _alert(letter, parts)
    return _taken(letter, parts)


def _taken(letter: DeadLetter, parts: Parts) -> bool:
    try:
        if report_letter(letter, parts):
            return True
    except Exception as error:  # one letter's trouble must not keep the others from being told
        _tell_untaken(letter.id, letter.job_type, parts, error)
        return False
    _tell_untaken(letter.id, letter.job_type, parts)
    return False


def _alert(letter: DeadLetter, parts: Parts) -> None:
    parts.telemetry.event(
        Event.DEAD_LETTER_ALERT,
        job_id=letter.original_job_id,
        job_type=letter.job_type,
        failure_reason=without_payload(letter.failure_reason, letter)[-500:],
        attempt_count=letter.attempts,
        error_code=letter.error_code,
    )


def _tell_untaken(job_id: JobId, job_type: str | None, parts: Parts, error: Exception | None = None) -> None:
    reason = f"{type(error).__name__}: {error}" if error else "the report was not taken"
    parts.telemetry.event(Event.REPORT_FAILED, job_id=job_id, job_type=job_type, reason=reason)


def _report(letter: DeadLetter, parts: Parts) -> FailureReport:
    payload = letter.payload
    names = _reported_fields(letter.job_type, parts)
    return FailureReport(
        job_id=letter.original_job_id,
        job_type=letter.job_type,
        severity=Severity.ERROR,
        error=redacted(letter.failure_reason, payload, names),
        error_code=letter.error_code,
        failed_at=letter.failed_at,
        attempts=letter.attempts,
        max_attempts=letter.max_attempts,
        runs=letter.runs,
        fields=allowed_fields(payload, names),
    )


def _reported_fields(job_type: str, parts: Parts) -> tuple[str, ...]:
    try:
        return parts.deployment.settings_of(job_type).reported_fields
    except NotDeployedError:
        return ()


def _unreported(parts: Parts) -> Iterator[DeadLetter]:
    now = parts.clock.now()
    cursor: Record | None = None
    while True:
        page = parts.store.letters.unreported(start=now - SWEEP_BACK, end=now - SWEEP_MARGIN, limit=_PAGE, after=cursor)
        report_unreadable(page.unreadable, parts)
        yield from (letter for letter in page.letters if is_trusted_letter(letter, parts))
        cursor = page.cursor
        if cursor is None:
            return
