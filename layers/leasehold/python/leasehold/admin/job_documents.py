"""What surfaces show, as JSON-ready documents: pure functions, used by the HTTP API, the command line and the console.

Unset values are left out. Times are texts in UTC, durations are seconds. Payloads and results are as they are stored:
a datetime is `{"$datetime": …}`, a decimal `{"$decimal": …}`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leasehold.documents import picked, set_only
from leasehold.kernel.errors import InvalidPayloadError
from leasehold.kernel.keys import to_text
from leasehold.kernel.payload import encode_payload, restored
from leasehold.kernel.payload_forms import shown_json
from leasehold.kernel.transitions import JobStatus
from leasehold.limits.lanes import queue_of_lane
from leasehold.schedules.recurrence import Every, explain
from leasehold.webhooks.model import external_status, last_line, run_document, running_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leasehold.documents import Document
    from leasehold.groups.model import Group
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job, Run
    from leasehold.schedules.model import Schedule
    from leasehold.schedules.recurrence import Recurrence
    from leasehold.templates.model import Template


def encode_shown(document: object) -> str:
    """A payload that somebody has typed in the form in which it is shown: its datetimes and decimals are as before."""
    try:
        value = restored(document)
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        problem = f"has a $datetime or $decimal that is none ({error})"
        raise InvalidPayloadError("payload", document, problem, "Correct it.") from None
    return encode_payload(value)


def job_summary(job: Job) -> Document:
    """A job in a list: all but its payload, its result and its history.

    `status` is one of the six states, `state` what the API calls it: QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED.
    """
    return set_only(
        **picked(job, "job_id", "job_type", "status"),
        state=external_status(job.status),
        **picked(job, "priority", "scheduled_for"),
        due_at=time_text(job.due_at) if not job.has_ended else None,
        held_by=queue_of_lane(job.due_lane) if job.due_lane else None,
        **picked(job, "created_at", "created_by", "attempts", "max_attempts", "started_at"),
        ended_at=time_text(job.completed_at),
        error=last_line(job.last_error),
        error_code=job.last_error_code,
        cancel_requested_at=job.cancel_requested,
        cancel_reason=job.cancel_reason,
        dedup_key=job.dedup.key if job.dedup else None,
        **picked(job, "concurrency_key", "schedule", "template", "group_id", "member", "retry_of"),
    )


def job_document(job: Job, dead_letter: DeadLetter | None = None) -> Document:
    """All of a job: with payload, result, runs and timeline, to which its dead letter's resolution belongs."""
    return {
        **job_summary(job),
        "payload": shown_json(job.payload_text),
        **set_only(
            result=None if job.result_text is None else shown_json(job.result_text),
            traceback=job.last_error,
            **picked(job, "artifacts", "last_attempt_at"),
            lease=_lease(job),
            start_by=time_text(job.start_by),
            dedup_window=job.dedup.window if job.dedup else None,
            **picked(job, "retry", "webhook", "trace"),
            expires_at=epoch(job.expires_at),
        ),
        "runs": [*(run_of_job(job, run) for run in job.runs), *running_runs(job)],
        "timeline": timeline(job, dead_letter),
    }


def run_of_job(job: Job, run: Run) -> Document:
    """A run as those see it who look after the job: with its worker, and the traceback that others do not see."""
    return {**run_document(job, run), **set_only(worker=run.worker, traceback=run.error)}


def running_runs(job: Job) -> list[Document]:
    """The run that goes on now, if one does."""
    running = running_document(job)
    return [] if running is None else [{**running, **set_only(worker=job.locked_by)}]


def dead_letter_document(dead_letter: DeadLetter) -> Document:
    """`failure_reason` is the exception and its message, `traceback` all that is known."""
    return {
        **picked(dead_letter, "id", "original_job_id", "job_type"),
        "payload": shown_json(dead_letter.payload_text),
        "failed_at": to_text(dead_letter.failed_at),
        "failure_reason": last_line(dead_letter.failure_reason),
        "error_code": dead_letter.error_code,
        "traceback": dead_letter.failure_reason,
        **picked(dead_letter, "attempts", "is_open"),
        "runs": [_run_alone(dead_letter, run) for run in dead_letter.runs],
        **picked(dead_letter, "max_attempts", "trace", "resolution", "resolved_by", "resolved_at", "resolved_reason"),
        **picked(dead_letter, "redriven_as", "reported_at"),
    }


def dead_letter_summary(dead_letter: DeadLetter) -> Document:
    """A dead letter in a list: all but its payload and its history, which may be large."""
    left_out = {"payload", "runs", "traceback"}
    return {name: value for name, value in dead_letter_document(dead_letter).items() if name not in left_out}


def _run_alone(dead_letter: DeadLetter, run: Run) -> Document:
    return {
        **{"run_id": run.run_id(dead_letter.id), "attempt": run.number, "status": str(run.outcome)},
        **picked(run, "worker", "started_at", "ended_at", "error_code", "reason"),
        **set_only(traceback=run.error),
    }


def _lease(job: Job) -> Document | None:
    if job.locked_by is None:
        return None
    return set_only(holder=job.locked_by, since=time_text(job.locked_at), until=time_text(job.lock_expires_at))


def timeline(job: Job, dead_letter: DeadLetter | None = None) -> list[Document]:
    """Each thing once, in order, the last ones possibly still to come; what is of one moment stays as it follows."""
    return sorted(_moments(job, dead_letter), key=lambda moment: str(moment["at"]))


def _moments(job: Job, dead_letter: DeadLetter | None) -> Iterator[Document]:
    yield _moment(job.created_at, "created", by=job.created_by)
    started_at = job.runs[0].started_at if job.runs else job.started_at
    # A job that was run before its time, or ended before it, has no use for that time any more.
    if job.created_at < job.scheduled_for <= (started_at or job.completed_at or job.scheduled_for):
        yield _moment(job.scheduled_for, "scheduled")
    for run in job.runs:
        yield _moment(run.started_at, "started", run=run.number, worker=run.worker)
        yield _moment(
            run.ended_at,
            str(run.outcome).lower(),
            run=run.number,
            error_code=run.error_code,
            reason=run.reason,
            seconds=(run.ended_at - run.started_at).total_seconds(),
        )
    if job.cancel_requested is not None:
        yield {"at": job.cancel_requested, "event": "cancel_requested"}
    yield from _now(job)
    if dead_letter is not None and dead_letter.resolution is not None and dead_letter.resolved_at is not None:
        who, why, job_id = dead_letter.resolved_by, dead_letter.resolved_reason, dead_letter.redriven_as
        yield _moment(dead_letter.resolved_at, dead_letter.resolution, by=who, reason=why, job_id=job_id)


def _now(job: Job) -> Iterator[Document]:
    """How it stands: what runs, what comes next, or how it ended, unless its last run says just that."""
    last = str(job.runs[-1].outcome).lower() if job.runs else None
    if job.completed_at is not None and last != str(job.status):
        yield _moment(job.completed_at, str(job.status), reason=job.cancel_reason)
    if (running := running_document(job)) is not None and job.started_at is not None:
        yield _moment(job.started_at, "running", run=running["attempt"], worker=job.locked_by)
    elif job.status is JobStatus.IN_PROGRESS and job.locked_at is not None:
        yield _moment(job.locked_at, "handed_over")
    if job.status is JobStatus.FAILED and job.due is not None:
        yield _moment(job.due.at, "next_attempt")
    if job.status is JobStatus.PENDING and job.due is not None and job.due.at != job.scheduled_for:
        yield _moment(job.due.at, "due")


def _moment(at: datetime, event: str, **more: object) -> Document:
    return {"at": to_text(at), "event": str(event), **set_only(**more)}


def schedule_document(schedule: Schedule, next_runs: Iterable[datetime] = ()) -> Document:
    return {
        **picked(schedule, "name", "job_type"),
        "payload": shown_json(schedule.payload_text),
        **_recurrence(schedule.recurrence),
        "plan": explain(schedule.recurrence),
        **picked(schedule, "enabled", "paused", "is_active", "missed", "missed_window", "overlap", "origin", "version"),
        **picked(schedule, "created_by", "is_mirrored"),
        "next_runs": [to_text(each) for each in next_runs],
        **picked(schedule, "priority", "template", "last_triggered_at", "last_job_id", "mirror_error"),
    }


def template_document(template: Template) -> Document:
    return {
        **picked(template, "name", "job_type"),
        "payload": shown_json(template.payload_text),
        **picked(template, "version", "created_by", "created_at", "priority", "max_attempts", "retry", "webhook"),
        **picked(template, "description"),
    }


def group_document(group: Group) -> Document:
    return {
        **group.progress,
        **picked(group, "left", "mode", "on_failure", "created_at", "created_by", "reason", "ended_at", "callback"),
        **picked(group, "callback_job_id", "turn"),
        **set_only(expires_at=epoch(group.expires_at)),
    }


def _recurrence(recurrence: Recurrence) -> Document:
    if isinstance(recurrence, Every):
        return {"every": recurrence.interval.total_seconds()}
    return {"cron": recurrence.line, **picked(recurrence, "timezone", "on_dst_gap", "on_dst_overlap")}


def time_text(at: datetime | None) -> str | None:
    return None if at is None else to_text(at)


def epoch(seconds: int | None) -> str | None:
    return None if seconds is None else to_text(datetime.fromtimestamp(seconds, UTC))
