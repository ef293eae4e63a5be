"""Everything that a surface shows. What it does are the verbs of the queue: `Admin.queue`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from leasehold.admin.documents import backlog_document, control_document
from leasehold.admin.figures import count_jobs, last_hour
from leasehold.admin.job_documents import (
    dead_letter_document,
    job_document,
    job_summary,
    run_of_job,
    running_runs,
    schedule_document,
)
from leasehold.admin.listing import list_jobs, list_named
from leasehold.admin.others import Auditor, DeadLetterFilter, list_dead_letters, list_groups
from leasehold.admin.pages import DEFAULT_LIMIT, MAX_LIMIT, JobFilter, check_limit
from leasehold.aws.job_logs import insights_address
from leasehold.documents import set_only
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.transitions import ENDED, WAITING, JobStatus
from leasehold.kernel.type_options import whole_number
from leasehold.operate.dead_letters import with_payload_of
from leasehold.operate.jobs import find, find_run
from leasehold.operate.measure import backlog_of
from leasehold.operate.operator import Operator
from leasehold.operate.order import MAX_PLACES, line_of, place_of
from leasehold.pool import ahead
from leasehold.schedules import verbs as schedules_engine
from leasehold.schedules.model import coming_slots
from leasehold.schedules.records import SCHEDULE, schedule_of
from leasehold.schemas.examples import with_example
from leasehold.schemas.records import read_schema
from leasehold.templates.records import TEMPLATE, template_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.admin.pages import Page
    from leasehold.documents import Document
    from leasehold.groups.model import Group
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.queue import Queue
    from leasehold.schedules.model import Schedule
    from leasehold.templates.model import Template


MAX_NEXT_RUNS = 100
MAX_EXAMPLES = 100
# Of a listing each, so that a filter that matches little ends before the API's time is over.
_MOST_PAGES = 20
# Figures are the same for everybody who looks within this time.
FIGURES_KEPT_FOR = timedelta(seconds=15)


class Reader:
    """
    >>> page = Reader(queue.services).jobs(JobFilter(job_type="user_sync"))           # doctest: +SKIP
    >>> [job.status for job in page.items], page.cursor                            # doctest: +SKIP
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._figures: dict[str, tuple[datetime, object]] = {}

    def jobs(
        self, wanted: JobFilter | None = None, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[Job]:
        """Jobs that match, the newest first; at most ten requests, so a page may be short and have a cursor."""
        return list_jobs(wanted or JobFilter(), self._services, limit=limit, cursor=cursor)

    def jobs_to_cancel(self, wanted: JobFilter, *, limit: int) -> tuple[list[Job], bool]:
        """The preview of a bulk cancel: those that match and wait, the newest first, at most `limit`; and whether
        nothing else matches.

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
            page = self.jobs(wanted, limit=MAX_LIMIT, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None or len(found) > limit:
                break
        return found[:limit], cursor is None and len(found) <= limit

    def job(self, job_id: str, *, with_place: bool = False) -> Document:
        """One job with its runs, its timeline and the dead letter that its death left; of one redriven, as which job.

        `with_place` costs up to four reads of the index, and is for a job that waits: the how-manieth it is to be
        dispatched. `logs` is the address of its log lines in CloudWatch, or the command that prints them.
        """
        job = find(job_id, self._services)
        is_dead = job.status is JobStatus.DEAD_LETTER
        dead = self._services.store.dead_letters.get(job.job_id) if is_dead else None
        # A dead job's dead letter has its own copy of a payload that stands apart.
        job = job if dead is None else with_payload_of(dead, job)
        place = place_of(job, self._services) if with_place else None
        shown = job_document(self._services.store.payloads.shown(job), dead)
        shown |= set_only(position=place, logs=self._logs_of(job))
        if dead is not None:
            shown |= set_only(redriven_as=dead.redriven_as, dead_letter=dead_letter_document(dead))
        return shown

    def _logs_of(self, job: Job) -> str:
        logs = self._services.deployment.settings_of(job.job_type).logs
        until = job.completed_at or self._services.clock.now()
        if logs is None:
            return f"leasehold logs {job.job_id}"
        return insights_address(logs, job.job_id, since=job.created_at, until=until)

    def queue(self, *, shard: int = 0, held_by: str | None = None, first: int = 1, limit: int = 50) -> Document:
        """The jobs that are due and wait, in the order of dispatch, from the `first` place on.

        `is_complete` if nobody waits behind them.
        held_by: those of this type that are held back, or of `type#key` if it has limits; not those that may run.
        """
        check_limit(limit)
        whole_number(shard, "shard", self._services.deployment.registry().shards - 1, least=0)
        whole_number(first, "first", MAX_PLACES)
        last = min(first + limit - 1, MAX_PLACES)
        line = line_of(self._services, shard=shard, held_by=held_by, length=last)
        wanted = line.job_ids[first - 1 :]
        jobs = self._services.store.jobs.get_many(wanted) if wanted else {}
        # What was dispatched since the index was read waits no longer.
        places = [(place, jobs[each]) for place, each in enumerate(wanted, first) if each in jobs]
        items = [{"position": place, **job_summary(job)} for place, job in places if job.status.is_waiting]
        return {"items": items, "is_complete": line.is_complete}

    def run(self, run_id: str) -> Document:
        """A run by its id, `<job id>.<number>`. Old runs are dropped from a long history."""
        job, run = find_run(run_id, self._services)
        return running_runs(job)[0] if run is None else run_of_job(job, run)

    def dead_letters(
        self, wanted: DeadLetterFilter | None = None, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[DeadLetter]:
        """Open dead letters, those that failed last first."""
        return list_dead_letters(wanted or DeadLetterFilter(), self._services, limit=limit, cursor=cursor)

    def groups(self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Group]:
        return list_groups(self._services, limit=limit, cursor=cursor)

    def schedules(self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Schedule]:
        """By name. One that was deleted is `retired` until EventBridge has forgotten it."""
        return list_named(SCHEDULE, schedule_of, self._services, limit=limit, cursor=cursor)

    def schedule(self, schedule: str | Schedule, *, next_runs: int = 5) -> Document:
        """One with its coming slots, none while it is disabled or paused: by its name, or as it was read just now."""
        whole_number(next_runs, "next_runs", MAX_NEXT_RUNS, least=0)
        found = schedules_engine.find(schedule, self._services) if isinstance(schedule, str) else schedule
        return schedule_document(found, islice(coming_slots(found, self._services.clock.now()), next_runs))

    def templates(self, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> Page[Template]:
        return list_named(TEMPLATE, template_of, self._services, limit=limit, cursor=cursor)

    def control(self) -> Document:
        """What is stopped, by whom and why, and what is deployed; as it is now, not as it was cached."""
        switches = Operator(self._services).switches()
        return control_document(switches, self._services.deployment.registry(fresh=True))

    def payload_schema(self, job_type: str) -> dict[str, Any] | None:
        """The JSON schema of a type's payload model with an example, as its handler gave it; None if it has none."""
        found = read_schema(parse_job_type(job_type), self._services.store.table)
        return with_example(found) if found else None

    def payload_examples(self) -> dict[str, Any]:
        """An example of a payload for each type that has one, for the first hundred types."""
        types = [name for name, each in sorted(self._services.deployment.registry().types.items()) if each.schema]
        read = ahead(self._services.pool, self.payload_schema, types[:MAX_EXAMPLES])
        shown = {name: (document or {}).get("examples") for name, document in read}
        return {name: examples[0] for name, examples in shown.items() if isinstance(examples, list) and examples}

    def counts(self) -> Document:
        """Jobs per status and type, up to 10,000 each; kept for 15 seconds."""
        return self._kept("counts", count_jobs)

    def last_hour(self) -> Document | None:
        """Ends per minute, and lateness; None where there is no ended index. Kept for 15 seconds."""
        return self._kept("last_hour", last_hour)

    def backlog(self) -> Document:
        """What is due and unclaimed, per type; kept for 15 seconds."""
        return self._kept("backlog", lambda services: backlog_document(backlog_of(services)))

    def _kept[Figures](self, name: str, make: Callable[[Services], Figures]) -> Figures:
        now = self._services.clock.now()
        kept = self._figures.get(name)
        if kept is None or not timedelta(0) <= now - kept[0] < FIGURES_KEPT_FOR:
            kept = self._figures[name] = (now, make(self._services))
        return cast("Figures", kept[1])


class Admin:
    """What surfaces show, the audit trail, and the queue to act on, in the name of one identity.

    Who acts is never an argument: it is the identity of the services, set from what AWS or a token says.
    """

    def __init__(self, services: Services) -> None:
        self.read = Reader(services)
        self.audit = Auditor(services)
        # What it is made of, for surfaces that build on it.
        self.services = services

    @cached_property
    def queue(self) -> Queue:
        """Imported with the first action: who only looks need not wait for it."""
        from leasehold.queue import Queue

        return Queue(self.services)
