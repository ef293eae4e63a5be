"""Access patterns of those who list jobs: no plain job's way passes here."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.kernel import keys
from leasehold.kernel.job import job_of
from leasehold.kernel.jobs import DuePage, due_entry, ended_lane
from leasehold.kernel.keys import Due, job_id_at, to_text
from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.kernel.unreadable import read_each
from leasehold.lean import dataclass
from leasehold.limits.lanes import hold_lane

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId, Priority
    from leasehold.kernel.table import Record, Table
    from leasehold.kernel.transitions import JobStatus
    from leasehold.kernel.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class JobPage:
    jobs: list[Job]
    cursor: Record | None


class Listings:
    def __init__(self, table: Table) -> None:
        self._table = table

    def look_up(self, job_ids: Sequence[JobId]) -> tuple[dict[JobId, Job], list[Unreadable]]:
        """Those of these jobs that there are, and a word about each that cannot be read."""
        listed = read_each(self._table.get_many([keys.job(job_id) for job_id in job_ids]), job_of)
        return {job.job_id: job for job in listed.items}, listed.unreadable

    def next_due(self, lane: str) -> datetime | None:
        """When the lane next needs the poller."""
        page = self._table.query(JOBS, lane, index=DUE_INDEX, limit=1)
        return Due.parse(cast("str", page.records[0]["due_key"])).at if page.records else None

    def held(
        self, queue: str, priority: Priority, *, limit: int, behind: str | None = None, after: Record | None = None
    ) -> DuePage:
        """Jobs that wait in a hold lane, in order; only those `behind` a due key, if there is one."""
        first = None if behind is None else f"{behind}\x00"
        page = self._table.query(
            JOBS, hold_lane(queue, priority), index=DUE_INDEX, first=first, limit=limit, after=after
        )
        return DuePage([due_entry(record) for record in page.records], page.cursor)

    def by_date(self, partition: str, start: datetime, end: datetime, *, limit: int) -> JobPage:
        """Jobs by the date they were first meant to run, ended ones included."""
        first, last = f"scheduled#{to_text(start)}", f"scheduled#{to_text(end)}"
        page = self._table.query(JOBS, partition, first=first, last=last, limit=limit)
        return JobPage([job_of(record) for record in page.records], page.cursor)

    def ended(self, status: JobStatus, job_type: str, *, limit: int) -> list[JobId]:
        """Ended jobs of one type, the newest first, as far as their keys are those of jobs."""
        lane = ended_lane(status, job_type)
        page = self._table.query(JOBS, lane, index=ENDED_INDEX, limit=limit, newest_first=True)
        return [job_id for record in page.records if (job_id := job_id_in(record)) is not None]


def job_id_in(record: Record) -> JobId | None:
    """The job that an entry of an index, or a dedup record, stands for; None if there can be no such job."""
    names = ("job_pk", "job_sk") if "job_sk" in record else ("PK", "SK")
    pk, sk = (cast("str", record.get(name, "")) for name in names)
    return job_id_at(pk, sk)
