"""The admin service: acting. What people do, on whatever surface; each audit entry has a reason and leaves one record.

Who acts is never an argument: it is the identity of the parts, which a surface sets from what AWS or a token says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.admin.listing import list_jobs
from leasehold.admin.pages import MAX_LIMIT, JobFilter
from leasehold.audit.records import audit_entry_on_job
from leasehold.kernel.dedup import OnDuplicate
from leasehold.kernel.enqueue import draft, request_of, write
from leasehold.kernel.errors import InvalidOptionError, JobNotFoundError, WrongStateError
from leasehold.kernel.job import Outcome
from leasehold.kernel.keys import parse_job_id
from leasehold.kernel.transitions import ENDED, WAITING
from leasehold.lean import dataclass
from leasehold.operate import jobs as operate
from leasehold.operate import purge, redrive
from leasehold.operate.operator import Operator
from leasehold.operate.order import move_in_queue
from leasehold.operate.redrive import retry
from leasehold.queue import Queue
from leasehold.webhooks.model import RUNNING, running_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime, timedelta

    from leasehold.groups.sdk import Groups
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.dedup import Enqueued
    from leasehold.kernel.enqueue import NewJob
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.redrive import Redriven
    from leasehold.schedules.sdk import Schedules
    from leasehold.templates.sdk import Templates


# Of a listing each, so that a filter that matches little ends before the API's time is over.
_MOST_PAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLettersWanted:
    """Which open dead letters a bulk action is about."""

    job_type: str | None = None
    failed_from: datetime | None = None
    failed_to: datetime | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class JobsToCancel:
    """`is_complete`: nothing else matches."""

    jobs: list[Job]
    is_complete: bool


class Actions:
    """Schedules, templates and groups have actions of their own: `schedules`, `templates`, `groups`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._queue = Queue(services)
        self._operator = Operator(services)

    @property
    def schedules(self) -> Schedules:
        return self._queue.schedules

    @property
    def templates(self) -> Templates:
        return self._queue.templates

    @property
    def groups(self) -> Groups:
        return self._queue.groups

    def enqueue(
        self,
        job: NewJob,
        *,
        reason: str = "",
        on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING,
        job_id: JobId | None = None,
    ) -> Enqueued:
        """Create a job for the one who acts. One that exists already by its dedup key leaves no record.

        job_id: of a job that is to be made once, however often it is asked for; it says when the job runs.
        """
        self._services.deployment.refuse_if_halted()
        request = replace(request_of(job), created_by=self._services.identity.actor())
        drafted = draft(request, self._services, job_id=job_id)
        audit_entry = audit_entry_on_job(
            drafted.job.job_id, "create", self._services, reason=reason or "created", job_type=drafted.job.job_type
        )
        return write(drafted, self._services, on_duplicate=on_duplicate, audit_entry=audit_entry)

    def cancel(self, job_id: str, *, reason: str = "") -> Cancelled:
        return operate.cancel(job_id, reason, self._services)

    def matching_jobs(self, wanted: JobFilter, *, limit: int) -> JobsToCancel:
        """The preview of a bulk cancel: those that match and wait, the newest first, at most `limit`.

        Those that run would be asked to stop, so they are in it only if the filter names their status.
        """
        if wanted == JobFilter(statuses=wanted.statuses):
            raise InvalidOptionError(None, "a bulk cancel needs a filter", "Pass a job type, a time, a key or a group.")
        if wanted.statuses & ENDED:
            ended = ", ".join(sorted(wanted.statuses & ENDED))
            raise InvalidOptionError(ended, "jobs that have ended cannot be cancelled", "Leave these statuses out.")
        wanted = replace(wanted, statuses=wanted.statuses or WAITING)
        found: list[Job] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = list_jobs(wanted, self._services, limit=MAX_LIMIT, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None or len(found) > limit:
                break
        return JobsToCancel(found[:limit], is_complete=cursor is None and len(found) <= limit)

    def cancel_many(
        self, job_ids: Iterable[str], *, reason: str = "", progress: Callable[[int], None] | None = None
    ) -> list[Cancelled]:
        return self._operator.cancel_many(job_ids, reason=reason, progress=progress)

    def retry(
        self,
        job_id: str,
        *,
        reason: str = "",
        priority: Priority | PriorityName | int | None = None,
        new_job_id: JobId | None = None,
    ) -> Enqueued:
        return retry(job_id, self._services, reason=reason, priority=priority, new_job_id=new_job_id)

    def retry_run(
        self,
        run_id: str,
        *,
        reason: str = "",
        priority: Priority | PriorityName | int | None = None,
        new_job_id: JobId | None = None,
    ) -> Enqueued:
        """Run the job of a failed run again; a run that did not fail is refused."""
        job_id, _, number = run_id.rpartition(".")
        job = operate.find(parse_job_id(job_id), self._services)
        run = next((each for each in job.runs if str(each.number) == number), None)
        running = running_document(job)
        if running is not None and running["run_id"] == run_id:
            raise WrongStateError(run_id, "retry", RUNNING, "Only a failed run is retried: wait for its end.")
        if run is None:
            raise JobNotFoundError("run", run_id)
        if run.outcome is not Outcome.FAILED:
            raise WrongStateError(run_id, "retry", run.outcome, "Only a failed run is retried; enqueue the job anew.")
        return self.retry(job.job_id, reason=reason, priority=priority, new_job_id=new_job_id)

    def run_now(self, job_id: str, *, reason: str = "") -> Job:
        """Have a waiting job due at once."""
        return operate.reschedule(job_id, self._services, reason=reason)

    def reschedule(
        self, job_id: str, *, reason: str = "", run_at: datetime | None = None, run_in: timedelta | None = None
    ) -> Job:
        return operate.reschedule(job_id, self._services, run_at=run_at, run_in=run_in, reason=reason)

    def reprioritise(self, job_id: str, priority: Priority | PriorityName | int, *, reason: str = "") -> Job:
        return operate.edit(job_id, self._services, priority=priority, reason=reason)

    def move(
        self,
        job_id: str,
        *,
        reason: str = "",
        before: str | None = None,
        after: str | None = None,
        position: int | None = None,
    ) -> Job:
        return move_in_queue(job_id, self._services, before=before, after=after, position=position, reason=reason)

    def purge(self, job_id: str, *, reason: str = "") -> Job:
        """Forget the personal data of an ended job: payload, result, errors."""
        return purge.purge(job_id, self._services, reason=reason)

    def redrive(self, job_id: str, *, reason: str = "", payload_text: str | None = None) -> Redriven:
        """payload_text: what it is to do instead, see `kernel.payload.encode_shown`."""
        return redrive.redrive(job_id, self._services, reason=reason, payload_text=payload_text)

    def matching_dead_letters(self, wanted: DeadLettersWanted) -> list[JobId]:
        """The dry run of a bulk action: which dead letters it would be about, the oldest first."""
        found: list[JobId] = []
        for dead_letter in redrive.open_dead_letters(
            self._services, job_type=wanted.job_type, start=wanted.failed_from, end=wanted.failed_to
        ):
            if wanted.limit is not None and len(found) >= wanted.limit:
                break
            found.append(dead_letter.id)
        return found

    def redrive_many(
        self, wanted: DeadLettersWanted, *, reason: str = "", progress: Callable[[int], None] | None = None
    ) -> list[Redriven]:
        """Redrive every open dead letter that matches, each with its audit entry; `progress` gets the count."""
        return redrive.redrive_many(
            self._services,
            reason=reason,
            job_type=wanted.job_type,
            start=wanted.failed_from,
            end=wanted.failed_to,
            limit=wanted.limit,
            progress=progress,
        )

    def discard(self, job_id: str, *, reason: str = "") -> DeadLetter:
        return redrive.discard(job_id, self._services, reason=reason)

    def halt(self, *, reason: str = "") -> bool:
        return self._operator.halt(reason=reason)

    def resume(self, *, reason: str = "") -> bool:
        return self._operator.resume(reason=reason)

    def pause(self, job_type: str, *, reason: str = "") -> bool:
        return self._operator.pause(job_type, reason=reason)

    def unpause(self, job_type: str, *, reason: str = "") -> bool:
        return self._operator.unpause(job_type, reason=reason)

    def direct_run(self, job_type: str, payload: Json, *, timeout: timedelta) -> Json:
        """Run a handler now and wait for its result; it makes no job."""
        return self._queue.run_now(job_type, payload, timeout=timeout)
