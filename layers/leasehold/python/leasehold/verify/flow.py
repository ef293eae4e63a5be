"""Flow: real jobs through the deployment, each hop timed: now, in bulk, later, through a crash, to a dead letter."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.transitions import JobStatus
from leasehold.operate.operator import Operator
from leasehold.verify.report import NotShown, Wrong
from leasehold.verify.site import PROBE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Json
    from leasehold.verify.report import Report
    from leasehold.verify.site import Site

PHASE = "flow"
BULK = 30
LATER = timedelta(seconds=20)
_REASON = "leasehold verify"
_PATIENCE = timedelta(minutes=4)


def flow(site: Site, report: Report, run: str) -> None:
    """All of it at once: the phase takes as long as its slowest part, the schedule's first slot."""
    types = site.queue.services.deployment.registry().types
    with report.check(PHASE, "the job type of the flow"):
        if PROBE not in types:
            raise Wrong(f"{PROBE} is not deployed. Pass probe=True to the JobQueue, deploy, try again.")
    if PROBE not in types:
        return
    queue, schedule = site.queue, f"leasehold-verify-{run}"
    sent = _Sent(site)
    try:
        with report.check(PHASE, "a schedule is taken") as told:
            made = queue.schedules.create(schedule, PROBE, {"do": "complete"}, every=timedelta(minutes=1))
            told.append(f"{schedule}, every minute")
            sent.schedule = made.name
        now = sent.enqueue({"do": "complete"})
        later = sent.enqueue({"do": "complete"}, run_in=LATER)
        crash, fail = sent.enqueue({"do": "crash"}), sent.enqueue({"do": "fail"})
        answers = queue.enqueue_many([NewJob(job=PROBE, payload={"do": "complete"}) for _ in range(BULK)])
        bulk = [each.job_id for each in answers if hasattr(each, "job_id")]
        sent.job_ids += bulk
        with report.check(PHASE, "a job now") as told:
            told.append(_hops(sent.ended(now)))
        with report.check(PHASE, f"{BULK} jobs in bulk") as told:
            told.append(_bulk([sent.ended(each) for each in bulk]))
        with report.check(PHASE, f"a job in {LATER.seconds} s") as told:
            told.append(f"{_lateness(sent.ended(later))} after its time")
        with report.check(PHASE, "a dead letter") as told:
            job = sent.ended(fail, JobStatus.DEAD_LETTER)
            dead_letter = Operator(queue.services).dead_letter(job.job_id)
            told.append(f"{_hops(job)}, after {dead_letter.attempts} attempts")
        with report.check(PHASE, "a job whose worker crashed runs again") as told:
            job = sent.ended(crash)
            told.append(f"{_hops(job)}, in attempt {job.attempts}")
            if job.attempts != 2:
                raise Wrong("the crash left no trace")
        with report.check(PHASE, "a schedule's job") as told:
            told.append(f"{_lateness(sent.of_schedule(schedule))} after its slot")
        with report.check(PHASE, "cold starts") as told:
            told.append(_cold_starts(site, report.at))
    finally:
        sent.tear_down(report)


class _Sent:
    """The jobs of this run, waited for and tidied up."""

    def __init__(self, site: Site) -> None:
        self._queue = site.queue
        self.job_ids: list[str] = []
        self.schedule: str | None = None

    def enqueue(self, payload: Json, *, run_in: timedelta | None = None) -> str:
        job_id = self._queue.enqueue(PROBE, payload, run_in=run_in).job_id
        self.job_ids.append(job_id)
        return job_id

    def ended(self, job_id: str, wanted: JobStatus = JobStatus.COMPLETED) -> Job:
        job = self._queue.wait(job_id, timeout=_PATIENCE)
        if job.status is not wanted:
            raise Wrong(f"it ended as {job.status} instead of {wanted}: {job.last_error or job.cancel_reason}")
        return job

    def of_schedule(self, name: str) -> Job:
        """The first job that the schedule has made by itself."""
        give_up_at = time.monotonic() + _PATIENCE.total_seconds()
        while (job_id := self._queue.schedules.get(name).last_job_id) is None:
            if time.monotonic() > give_up_at:
                raise Wrong(f"no slot of {name} came within {_PATIENCE.seconds} s")
            time.sleep(1)
        self.job_ids.append(job_id)
        return self.ended(job_id)

    def tear_down(self, report: Report) -> None:
        if self.schedule is not None:
            with report.check("tear down", "the schedule"):
                self._queue.schedules.delete(self.schedule, reason=_REASON)
        operator, open_jobs = Operator(self._queue.services), []
        with report.check("tear down", "jobs and dead letters") as told:
            for job_id in self.job_ids:
                job = self._queue.get(job_id)
                if job.status is JobStatus.DEAD_LETTER:
                    operator.discard(job_id, reason=_REASON)
                elif not job.has_ended:
                    open_jobs.append(job_id)
                    with suppress(LeaseholdError):
                        self._queue.cancel(job_id, reason=_REASON)
            told.append(f"{len(self.job_ids)} jobs, {len(open_jobs)} of them had to be cancelled")
        report.leftovers += [
            f"{len(self.job_ids)} ended jobs of {PROBE}: TTL removes them after the type's retention",
            "the audit entries of the schedule and of the discarded dead letter: they are kept, as all are",
            "log lines and metrics of this run, as long as the deployment keeps them",
        ]


def _hops(job: Job) -> str:
    first, last = job.runs[0], job.runs[-1]
    more = f", to its last start {_seconds(first.started_at, last.started_at)}" if last is not first else ""
    start, run = _seconds(job.created_at, first.started_at), _seconds(first.started_at, first.ended_at)
    return f"enqueued to started {start}, ran {run}{more}"


def _lateness(job: Job) -> str:
    return f"started {_seconds(job.scheduled_for, job.runs[0].started_at)}"


def _bulk(jobs: Sequence[Job]) -> str:
    first = min(job.created_at for job in jobs)
    started = sorted(job.runs[0].started_at for job in jobs)
    ended = max(job.runs[-1].ended_at for job in jobs)
    return (
        f"half started within {_seconds(first, started[len(started) // 2])}, "
        f"all within {_seconds(first, started[-1])}, all ended within {_seconds(first, ended)}"
    )


def _seconds(begin: datetime, end: datetime) -> str:
    return f"{(end - begin).total_seconds():.2f} s"


def _cold_starts(site: Site, since: datetime) -> str:
    """Lambda says in its report of an invocation how long its start took."""
    found = [
        (float(took.split()[0]), function.name)
        for function in site.functions
        for line in site.log_events(function, since, filterPattern='"Init Duration"')
        if (took := line.partition("Init Duration: ")[2])
    ]
    if not found:
        if site.is_local:
            raise NotShown("the local AWS does not report them")
        return "none: every function was warm"
    slowest, name = max(found)
    return f"{len(found)}, the slowest {slowest:.0f} ms ({name})"
