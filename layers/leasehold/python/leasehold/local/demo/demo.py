"""Run the mix from an empty table to a verdict on every job."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.client.operator import Operator
from leasehold.client.queue import Queue
from leasehold.domain.control import Registry
from leasehold.domain.instants import EPOCH, LATEST
from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.parts import Parts
from leasehold.local.demo.case import Desk, Verdict, judge
from leasehold.local.demo.handlers import HANDLERS, JOB_TYPES
from leasehold.local.demo.runner import POLLERS, WORKERS, Runner
from leasehold.local.servers import dynoxide
from leasehold.store.dynamodb.connection import connect
from leasehold.store.dynamodb.creation import create_tables
from leasehold.store.dynamodb.table import DynamoTable, TableNames
from leasehold.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.local.demo.case import Asked, Case
    from leasehold.local.demo.journal import Journal
    from leasehold.local.demo.view import View
    from leasehold.store.table import Record

# Twice what the longest case takes: beyond it something is wrong, and the verdicts say what.
PATIENCE_SECONDS = 50.0
_LOOK_EVERY_SECONDS = 0.25
_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    verdicts: tuple[Verdict, ...]
    seconds: float
    by_status: dict[str, int]

    @property
    def is_good(self) -> bool:
        return all(verdict.is_good for verdict in self.verdicts)


def run_demo(cases: Sequence[Case], journal: Journal, view: View) -> Report:
    with dynoxide() as server:
        journal.say(f"a DynamoDB engine (dynoxide) listens on {server.endpoint}")
        parts = _deploy(server.endpoint, journal)
        with Runner(parts, HANDLERS, journal) as runner, view:
            journal.say(f"{POLLERS} pollers and {WORKERS} workers are at work")
            view.show([], journal)
            desk = Desk(Queue(parts), journal.say)
            asked = []
            for case in cases:
                asked.append(case.ask(desk))
                runner.wake()
            wanted = {job_id for each in asked for job_id in each.job_ids}
            _watch(wanted, parts, journal, view)
        return _report(cases, asked, parts, journal)


def _deploy(endpoint: str, journal: Journal) -> Parts:
    """What `cdk deploy` will do: the tables, and the registry that says which job types there are."""
    client = connect(
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="demo",
        aws_secret_access_key="demo",
    )
    names = TableNames(jobs="leasehold-demo-jobs", dead_letters="leasehold-demo-dead-letters")
    create_tables(client, names)
    parts = Parts(store=Store(DynamoTable(client, names)), telemetry=journal)
    Operator(parts, by="demo").publish(Registry(types={each.name: each for each in JOB_TYPES}))
    journal.say(f"made the tables {names.jobs} and {names.dead_letters}, and registered {len(JOB_TYPES)} job types")
    return parts


def _watch(wanted: set[JobId], parts: Parts, journal: Journal, view: View) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        jobs = _all_jobs(parts)
        view.show(jobs, journal)
        if wanted <= {job.job_id for job in jobs if job.has_ended}:
            return
        if time.monotonic() > give_up_at:
            journal.say(f"gave up after {PATIENCE_SECONDS:.0f} s: some jobs have not ended")
            view.show(jobs, journal)
            return
        time.sleep(_LOOK_EVERY_SECONDS)


def _report(cases: Sequence[Case], asked: Sequence[Asked], parts: Parts, journal: Journal) -> Report:
    jobs = _all_jobs(parts)
    found = {job.job_id: job for job in jobs}
    verdicts = [judge(case, each, found) for case, each in zip(cases, asked, strict=True)]
    known = {job_id for each in asked for job_id in each.job_ids}
    return Report(
        verdicts=(*verdicts, _nothing_else(jobs, known, parts)),
        seconds=round(journal.elapsed, 1),
        by_status=dict(sorted(Counter(str(job.status) for job in jobs).items())),
    )


def _nothing_else(jobs: Sequence[Job], known: set[JobId], parts: Parts) -> Verdict:
    """The tables hold what was asked for and no more."""
    strangers = [f"{job.job_id}: nobody asked for this job" for job in jobs if job.job_id not in known]
    dead = {job.job_id for job in jobs if job.status is JobStatus.DEAD_LETTER}
    letters = {letter.id for letter in Operator(parts, by="demo").dead_letters()}
    differing = [f"{job_id}: the dead-letter table and the job disagree" for job_id in sorted(dead ^ letters)]
    return Verdict(
        case="nothing else",
        asked="both tables, read in full",
        expected="only these jobs; a letter per dead job",
        came_out=f"{len(jobs)} jobs, {len(letters)} dead letters",
        jobs=0,
        problems=(*strangers, *differing),
    )


def _all_jobs(parts: Parts) -> list[Job]:
    jobs: list[Job] = []
    cursor: Record | None = None
    while True:
        page = parts.store.jobs.by_date(0, EPOCH, LATEST, limit=_PAGE, after=cursor)
        jobs += page.jobs
        cursor = page.cursor
        if cursor is None:
            return jobs
