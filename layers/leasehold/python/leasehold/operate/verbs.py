"""What the SDK does with jobs that are there, and what hangs on a queue: the half of `Queue` that makes no jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.direct_runs.run import run_now
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.kernel.payload import encode_value, resolve
from leasehold.kernel.type_options import parse_attempts, parse_priority
from leasehold.operate import jobs as operate
from leasehold.operate.dead_letters import shown
from leasehold.operate.order import move, move_to_place, place_of
from leasehold.operate.redrive import retry, retry_run
from leasehold.telemetry.spans import current_trace

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.groups.sdk import Groups
    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.operator import Operator
    from leasehold.schedules.sdk import Schedules
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload
    from leasehold.templates.sdk import Templates
    from leasehold.webhooks.deliveries import Webhooks


_WAIT_FIRST = timedelta(milliseconds=50)
_WAIT_LONGEST = timedelta(seconds=2)


class QueueVerbs:
    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def services(self) -> Services:
        """What the queue is made of, for those who build on it."""
        return self._services

    @property
    def schedules(self) -> Schedules:
        """Recurring jobs.

        >>> queue.schedules.create("sync", "user_sync", every=timedelta(minutes=30))   # doctest: +SKIP
        """
        from leasehold.schedules.sdk import Schedules

        return Schedules(self._services)

    @property
    def templates(self) -> Templates:
        """Named presets for jobs.

        >>> queue.templates.create("nightly", "daily_summary", {"style": "short"})     # doctest: +SKIP
        """
        from leasehold.templates.sdk import Templates

        return Templates(self._services)

    @property
    def groups(self) -> Groups:
        """Jobs that belong together, with one end.

        >>> queue.groups.create([NewJob(job="extract"), NewJob(job="load")])           # doctest: +SKIP
        """
        from leasehold.groups.sdk import Groups

        return Groups(self._services)

    @property
    def webhooks(self) -> Webhooks:
        """What receivers were told of runs.

        >>> queue.webhooks.deliveries(job_id)                                          # doctest: +SKIP
        """
        from leasehold.webhooks.deliveries import Webhooks

        return Webhooks(self._services)

    @property
    def operator(self) -> Operator:
        """What operators do: halt and pause, cancel many, redrive dead letters.

        >>> queue.operator.redrive(job_id, reason="fixed")                             # doctest: +SKIP
        """
        from leasehold.operate.operator import Operator

        return Operator(self._services)

    def get(self, job_id: str) -> Job:
        """The job as it is now; JobNotFoundError if there is none."""
        return operate.look_at(job_id, self._services)

    def cancel(self, job_id: str, *, reason: str = "") -> Cancelled:
        """Cancel a job that has not started; one that runs is asked to stop, and is not tried again."""
        return operate.cancel(job_id, reason, self._services)

    def retry(
        self,
        job_id: str,
        *,
        priority: Priority | PriorityName | int | None = None,
        reason: str = "",
        new_job_id: JobId | None = None,
    ) -> Enqueued:
        """Run a waiting job now, or an ended one again as a new job with `retry_of`.

        new_job_id: of the new job, for who may ask several times and wants one.
        """
        return retry(job_id, self._services, operate.Again(reason=reason, priority=priority, new_job_id=new_job_id))

    def retry_run(
        self,
        run_id: str,
        *,
        priority: Priority | PriorityName | int | None = None,
        reason: str = "",
        new_job_id: JobId | None = None,
    ) -> Enqueued:
        """Run the job of a failed run (`<job id>.<number>`) again; a run that did not fail is refused."""
        return retry_run(run_id, self._services, operate.Again(reason=reason, priority=priority, new_job_id=new_job_id))

    def reschedule(
        self,
        job_id: str,
        *,
        run_at: datetime | None = None,
        run_in: timedelta | None = None,
        reason: str = "",
    ) -> Job:
        """Move a waiting job to another time; without one, to now: that is how to run it at once.

        >>> queue.reschedule(job_id)                                           # doctest: +SKIP
        """
        return operate.reschedule(job_id, self._services, run_at=run_at, run_in=run_in, reason=reason)

    def reprioritise(self, job_id: str, priority: Priority | PriorityName | int, *, reason: str = "") -> Job:
        """Have a waiting job run among those of another priority, in the order of its time.

        >>> queue.reprioritise(job_id, Priority.CRITICAL)                      # doctest: +SKIP
        """
        return self.edit(job_id, priority=priority, reason=reason)

    def move(
        self,
        job_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        position: int | None = None,
        reason: str = "",
    ) -> Job:
        """Let a waiting job run directly before or after another waiting one, with that one's priority and time.

        position: or as the n-th of those that are due and wait as it does, 1 for the next; behind the last of them if
            there are fewer.

        >>> queue.move(job_id, before=other_id)                                # doctest: +SKIP
        >>> queue.move(job_id, position=1)                                     # doctest: +SKIP
        """
        if position is None:
            return move(job_id, self._services, before=before, after=after, reason=reason)
        if before is not None or after is not None:
            raise InvalidOptionError(
                (before, after, position), "a job is moved to one place", "Pass one of before, after and position."
            )
        return move_to_place(job_id, position, self._services, reason=reason)

    def position(self, job_id: str) -> int | None:
        """The how-manieth a job is of those that are due and wait as it does; None if it is not due, or beyond 1,000.

        >>> queue.position(job_id)                                             # doctest: +SKIP
        3
        """
        return place_of(operate.find(job_id, self._services), self._services)

    def edit(
        self,
        job_id: str,
        *,
        payload: Json | PayloadModel = None,
        priority: Priority | PriorityName | int | None = None,
        max_attempts: int | None = None,
        reason: str = "",
    ) -> Job:
        """Change what a waiting job will do; a job that was claimed is left alone (WrongStateError)."""
        given = (("priority", priority, parse_priority), ("max_attempts", max_attempts, parse_attempts))
        values: dict[str, object] = {name: parse(value) for name, value, parse in given if value is not None}
        payload_text = None if payload is None else encode_value(payload)
        return operate.edit(job_id, values, payload_text, self._services, reason=reason)

    def wait(self, job_id: str, *, timeout: timedelta = timedelta(seconds=30)) -> Job:
        """Wait until the job has ended and return it; WaitTimeoutError if it has not by then."""
        clock = self._services.clock
        give_up_at, pause = clock.now() + timeout, _WAIT_FIRST
        while not (job := operate.find(job_id, self._services)).has_ended:
            left = give_up_at - clock.now()
            if left <= timedelta(0):
                raise WaitTimeoutError(job.job_id, timeout, job.status)
            clock.sleep(min(pause, left))
            pause = min(pause * 2, _WAIT_LONGEST)
        return shown(job, self._services)

    def run_now(
        self,
        job: str | TypedPayload,
        payload: Json | PayloadModel = None,
        *,
        timeout: timedelta = timedelta(minutes=1),
    ) -> Json:
        """Run a type's handler now, wait for it, and return its result. It makes no job: nothing is kept or repeated.

        Jobs of the type that run are waited for, no longer than `timeout` (DirectRunTimeoutError); jobs that are due
        meanwhile start after it, in order. If the handler fails, DirectRunError says how.

        >>> queue.run_now("daily_summary", {"user_id": "u1"}, timeout=timedelta(minutes=2))     # doctest: +SKIP
        {'sent_to': 'u1'}
        """
        job_type, payload_text = resolve(job, payload)
        return run_now(job_type, payload_text, self._services, timeout=timeout, trace=current_trace())


class WaitTimeoutError(LeaseholdError, TimeoutError, code="wait_timeout"):
    def __init__(self, job_id: str, timeout: timedelta, status: str) -> None:
        super().__init__(
            f"job {job_id} is still {status} after {timeout.total_seconds():g} s. "
            "It goes on; call wait() again or look at it with get()."
        )
