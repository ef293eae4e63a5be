"""Run the mix on the deployed stacks, from the first enqueue to a verdict on every job."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.kernel.job import Outcome, job_of
from leasehold.kernel.partitions import of_jobs, records_in
from leasehold.kernel.transitions import JobStatus
from leasehold.local.demo.case import Desk, Verdict, judge
from leasehold.operate.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.keys import JobId
    from leasehold.local.demo.case import Case
    from leasehold.local.demo.view import View
    from leasehold.queue import Queue

# Several times what the longest case takes: beyond it something is wrong, and the verdicts say what.
_PATIENCE_SECONDS = 120.0
_START_SECONDS = 20.0
_LOOK_EVERY_SECONDS = 0.3
_LOST = "worker_lost"


class Journal:
    """What happened so far, for a view that shows it: lines that begin with their time."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        self.lines.append(self.timed(text))

    def timed(self, text: str) -> str:
        return f"{self.elapsed:5.1f} s  {text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    verdicts: tuple[Verdict, ...]
    seconds: float
    by_status: dict[str, int]

    @property
    def is_good(self) -> bool:
        return all(verdict.is_good for verdict in self.verdicts)


def run_demo(queue: Queue, cases: Sequence[Case], view: View) -> Report:
    journal = Journal()
    # The table may hold the jobs of earlier runs, or somebody else's: these are known by who made them.
    desk = Desk(queue, journal.say, by=f"demo-{secrets.token_hex(4)}")
    with view.shown:
        asked = []
        for case in cases:
            asked.append(case.ask(desk))
            view.show([], journal)
            if case.goes_ahead:
                _wait_for_starts(asked[-1].job_ids, queue)
        jobs = _follow([job_id for each in asked for job_id in each.job_ids], queue, journal, view)
    verdicts = [judge(case, each, jobs) for case, each in zip(cases, asked, strict=True)]
    return Report(
        verdicts=(*verdicts, _nothing_else(jobs, list(_made_by(desk.by, queue)), queue)),
        seconds=round(journal.elapsed, 1),
        by_status=dict(sorted(Counter(str(job.status) for job in jobs.values()).items())),
    )


def _wait_for_starts(job_ids: Sequence[JobId], queue: Queue) -> None:
    give_up_at = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up_at:
        jobs = queue.services.store.jobs.get_many(job_ids).values()
        if all(job.attempts or job.last_attempt_at for job in jobs):
            return
        time.sleep(_LOOK_EVERY_SECONDS)


def _follow(wanted: Sequence[JobId], queue: Queue, journal: Journal, view: View) -> dict[JobId, Job]:
    """Look until all jobs have ended, and tell of what became of them; the jobs as they were seen last."""
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    seen: dict[JobId, Job] = {}
    while True:
        jobs = queue.services.store.jobs.get_many(wanted)
        for change in changes(seen, jobs):
            journal.say(change)
        # One that is not found will not end either; the verdicts call it lost.
        is_over = all(job.has_ended for job in jobs.values())
        if not is_over and time.monotonic() > give_up_at:
            is_over = True
            journal.say(f"gave up after {_PATIENCE_SECONDS:.0f} s: some jobs have not ended")
        view.show(list(jobs.values()), journal)
        if is_over:
            return jobs
        seen = jobs
        time.sleep(_LOOK_EVERY_SECONDS)


def changes(before: Mapping[JobId, Job], after: Mapping[JobId, Job]) -> Iterator[str]:
    """What became of jobs between two looks, in words: the turns that a reader wants to see, others are counted."""
    for job_id, job in after.items():
        earlier = before.get(job_id)
        known = earlier.runs[-1].number if earlier and earlier.runs else 0
        for run in job.runs:
            if run.number > known and (told := _run(run)):
                yield f"{job.job_type}: {told}"
        if _was_snoozed(earlier, job):
            assert job.due_at is not None
            yield f"{job.job_type}: snoozed until {job.due_at:%H:%M:%S}"
        if job.status is JobStatus.DEAD_LETTER and (earlier is None or earlier.status is not job.status):
            yield f"{job.job_type}: a dead letter after {job.attempts} attempts"


def _run(run: Run) -> str | None:
    if run.outcome is Outcome.SKIPPED:
        return f"skipped, {run.reason}"
    if run.outcome is not Outcome.FAILED:
        return None
    if run.error_code == _LOST:
        return f"attempt {run.number} was lost with its worker; its lease has shown it"
    return f"attempt {run.number} failed with {run.error_code}"


def _was_snoozed(earlier: Job | None, job: Job) -> bool:
    if job.status is not JobStatus.PENDING or job.last_attempt_at is None:
        return False
    return earlier is None or earlier.last_attempt_at != job.last_attempt_at


def _nothing_else(jobs: dict[JobId, Job], made: Sequence[Job], queue: Queue) -> Verdict:
    """The tables hold what was asked for and no more."""
    strangers = [f"{job.job_id}: nobody asked for this job" for job in made if job.job_id not in jobs]
    dead = {job.job_id for job in jobs.values() if job.status is JobStatus.DEAD_LETTER}
    ours = {job.job_id for job in made} | jobs.keys()
    dead_letters = {dead_letter.id for dead_letter in Operator(queue.services).dead_letters()} & ours
    differing = [f"{job_id}: the dead-letter table and the job disagree" for job_id in sorted(dead ^ dead_letters)]
    return Verdict(
        case="nothing else",
        asked="both tables, read from the demo's start on",
        expected="only these jobs; a letter per dead job",
        came_out=f"{len(made)} jobs, {len(dead_letters)} dead letter{'' if len(dead_letters) == 1 else 's'}",
        jobs=0,
        problems=(*strangers, *differing),
    )


def _made_by(who: str, queue: Queue) -> Iterator[Job]:
    for partition in of_jobs(queue.services.deployment.registry()):
        jobs = map(job_of, records_in(queue.services.store.table, partition))
        yield from (job for job in jobs if job.created_by == who)
