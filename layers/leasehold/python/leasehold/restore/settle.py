"""Settle: find what ran after the moment that a queue was restored to, and keep it from running again unasked.

The restored tables know nothing of what came later; the old ones do, as an export of them. A job that ran since is
cancelled, with who and why in the audit: whoever wants it again says so (`leasehold retry`). Schedules go on with their
next slot. The queue stays halted until somebody resumes it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.audit.records import recorded_reason
from leasehold.kernel.dead_letter import dead_letter_of
from leasehold.kernel.errors import InvalidOptionError, WrongStateError
from leasehold.kernel.job import job_of
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import DEAD_LETTERS, JOBS
from leasehold.lean import dataclass
from leasehold.operate.jobs import cancel
from leasehold.operate.operator import Operator
from leasehold.restore.files import records_of
from leasehold.schedules.sdk import Schedules
from leasehold.schedules.verbs import all_schedules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record


class Unknown(StrEnum):
    """What becomes of jobs that were due since, and of which nobody knows whether they ran."""

    RUN = "run"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A job as it was `then` and what became of it `since`; None where that is not known."""

    job_id: JobId
    job_type: str
    then: str | None = None
    since: str | None = None
    ran_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """ran: and would run again. made: since then, and not in the restored tables. unknown: due since, nobody knows."""

    at: datetime
    ran: list[Found]
    made: list[Found]
    unknown: list[Found]
    # Live jobs that did not run since: they go on when the queue is resumed.
    goes_on: int
    schedules: list[str]


@dataclass(slots=True)
class _Old:
    """What the old tables know."""

    known: set[str]
    ran: dict[str, Found]
    made: dict[str, Found]


def look(at: datetime, services: Services, *, old: Path | None) -> Report:
    """What was done since the restored moment, by an export of the old tables; nothing is written."""
    _refuse_future(at, services)
    now = services.clock.now()
    before = _Old(set(), {}, {}) if old is None else _read(old, at)
    ran, unknown, goes_on = [], [], 0
    for job in _jobs(services.store.table.scan(JOBS)):
        before.made.pop(job.job_id, None)
        if job.has_ended:
            continue
        found = before.ran.get(job.job_id)
        if found is not None:
            ran.append(replace(found, then=str(job.status)))
        elif job.job_id not in before.known and (job.due_at is None or job.due_at <= now):
            unknown.append(Found(job_id=job.job_id, job_type=job.job_type, then=str(job.status)))
        else:
            goes_on += 1
    schedules = [each.name for each in all_schedules(services) if each.is_active and (each.next_slot() or now) <= now]
    return Report(
        at=at, ran=ran, made=list(before.made.values()), unknown=unknown, goes_on=goes_on, schedules=schedules
    )


def settle(
    at: datetime, services: Services, *, reason: str, old: Path | None, unknown: Unknown | None = None
) -> Report:
    """Halt, look, and keep from running again what ran since; the report of it. Doing it again changes nothing more."""
    _refuse_future(at, services)
    reason = recorded_reason(reason, services)
    Operator(services).halt(reason=f"restored to {to_text(at)}: {reason}")
    report = look(at, services, old=old)
    if report.unknown and unknown is None:
        raise InvalidOptionError(
            len(report.unknown),
            "of these jobs, which were due since, nobody knows whether they ran: the old tables do not have them",
            "Look at them with --dry-run, then say --unknown run or --unknown cancel.",
        )
    why = f"it ran after the restored moment {to_text(at)}: {reason}"
    for found in report.ran:
        _set_aside(found.job_id, why, services)
    if unknown is Unknown.CANCEL:
        for found in report.unknown:
            _set_aside(found.job_id, f"it may have run after the restored moment {to_text(at)}: {reason}", services)
    schedules = Schedules(services)
    for name in report.schedules:
        # A schedule that is resumed goes on with its next slot: those that passed may have run.
        schedules.pause(name, reason=why)
        schedules.resume(name, reason=why)
    return report


def _set_aside(job_id: JobId, why: str, services: Services) -> None:
    with suppress(WrongStateError):  # ended meanwhile, by an earlier try of this
        cancel(job_id, why, services)


def _read(folder: Path, at: datetime) -> _Old:
    old = _Old(set(), {}, {})
    for record in records_of(folder, DEAD_LETTERS):
        dead_letter = dead_letter_of(record)
        if dead_letter.failed_at > at:
            job_id, ran_at = dead_letter.id, dead_letter.failed_at
            old.ran[job_id] = Found(job_id=job_id, job_type=dead_letter.job_type, since="dead_letter", ran_at=ran_at)
            old.known.add(job_id)
    for job in _jobs(records_of(folder, JOBS)):
        old.known.add(job.job_id)
        last = _last_run(job)
        found = Found(job_id=job.job_id, job_type=job.job_type, since=str(job.status), ran_at=last)
        if last is not None and last > at:
            old.ran[job.job_id] = found
        if job.created_at > at:
            old.made[job.job_id] = found
    return old


def _jobs(records: Iterable[Record]) -> Iterator[Job]:
    return (job_of(record) for record in records if str(record.get("SK", "")).startswith("scheduled#"))


def _last_run(job: Job) -> datetime | None:
    """When it last ran, as far as its record says; a cancel before its start is no run."""
    times = [run.ended_at for run in job.runs]
    if job.started_at is not None:
        times.append(job.started_at)
    if job.completed_at is not None and (job.attempts > 0 or job.runs):
        times.append(job.completed_at)
    return max(times, default=None)


def _refuse_future(at: datetime, services: Services) -> None:
    if at > services.clock.now():
        raise InvalidOptionError(to_text(at), "this moment has not come yet", "Pass the moment that was restored.")
