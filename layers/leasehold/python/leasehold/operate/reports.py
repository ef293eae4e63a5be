"""Report dead letters until their report is taken: from their table's stream, and by a sweep for what outlived it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import NotDeployedError
from leasehold.lean import dataclass
from leasehold.operate.dead_letters import is_trusted_dead_letter, open_dead_letters
from leasehold.operate.failure_report import FailureReport, Severity, allowed_fields, is_taken, log_untaken
from leasehold.operate.measure import measure_dead_letters
from leasehold.telemetry import Event
from leasehold.telemetry.redaction import redacted, without_payload

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.operate.failure_report import ErrorReporter

# The stream keeps a record for a day; the sweep looks back long enough to outlast a weekend.
SWEEP_BACK = timedelta(days=3)
# What is younger is still the stream's to tell.
SWEEP_MARGIN = timedelta(minutes=15)
_PAGE = 100
# So many reports that nobody takes, and the sweep is left to its next run.
_PATIENCE = 10


@dataclass(slots=True)
class Swept:
    """`seen` are open dead letters without a report; `untaken` of them still have none."""

    seen: int = 0
    reported: int = 0
    untaken: int = 0


def report_dead_letters(job_ids: Iterable[JobId], services: Services) -> list[JobId]:
    """Alert about each dead letter and report it; returns those whose report was not taken and must come again."""
    untaken = [job_id for job_id in job_ids if not _reported_or_told(job_id, services)]
    measure_dead_letters(services)
    return untaken


def sweep_unreported(services: Services, *, until: datetime | None = None) -> Swept:
    """Report what the stream gave up on; it ends at `until`, or when nobody seems to take reports."""
    swept = Swept()
    if services.reporter is not None and services.reporter.is_on:
        now = services.clock.now()
        since, before = now - SWEEP_BACK, now - SWEEP_MARGIN
        for dead_letter in open_dead_letters(services, start=since, end=before, unreported=True, page_size=_PAGE):
            if swept.untaken >= _PATIENCE or (until is not None and services.clock.now() >= until):
                break
            swept.seen += 1
            if _taken(dead_letter, services):
                swept.reported += 1
            else:
                swept.untaken += 1
    services.telemetry.event(Event.SWEEP_FINISHED, **asdict(swept))
    return swept


def _reported_or_told(job_id: JobId, services: Services) -> bool:
    try:
        # The record of a stream is as old as its delivery is late: only the table knows what was done since.
        dead_letter = services.store.dead_letters.get(job_id)
    except Exception as error:
        log_untaken(job_id, None, services, error)
        return False
    if dead_letter is None or not dead_letter.is_open or dead_letter.reported_at is not None:
        return True
    if not is_trusted_dead_letter(dead_letter, services):
        return True  # nobody died; who put it there is counted
    _alert(dead_letter, services)
    return _taken(dead_letter, services)


def _taken(dead_letter: DeadLetter, services: Services) -> bool:
    """Report one dead letter and mark it; False if the report was not taken. With no reporter nothing is owed."""

    def send(reporter: ErrorReporter) -> bool:
        if not reporter.report(_report(dead_letter, services)):
            return False
        # Should this write be lost, the next report carries the same id, by which its taker knows it.
        services.store.dead_letters.mark_reported(dead_letter.id, services.clock.now())
        return True

    return is_taken(dead_letter.id, dead_letter.job_type, services, send)


def _alert(dead_letter: DeadLetter, services: Services) -> None:
    services.telemetry.event(
        Event.DEAD_LETTER_ALERT,
        job_id=dead_letter.original_job_id,
        job_type=dead_letter.job_type,
        failure_reason=without_payload(dead_letter.failure_reason, dead_letter)[-500:],
        attempt_count=dead_letter.attempts,
        error_code=dead_letter.error_code,
    )


def _report(dead_letter: DeadLetter, services: Services) -> FailureReport:
    payload = dead_letter.payload
    names: tuple[str, ...] = ()
    with suppress(NotDeployedError):
        names = services.deployment.settings_of(dead_letter.job_type).reported_fields
    return FailureReport(
        job_id=dead_letter.original_job_id,
        job_type=dead_letter.job_type,
        severity=Severity.ERROR,
        error=redacted(dead_letter.failure_reason, payload, names),
        error_code=dead_letter.error_code,
        failed_at=dead_letter.failed_at,
        attempts=dead_letter.attempts,
        max_attempts=dead_letter.max_attempts,
        runs=dead_letter.runs,
        fields=allowed_fields(payload, names),
    )
