"""Access patterns of leases: which jobs are in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob, due_entry
from leasehold.kernel.keys import due_until, to_text
from leasehold.kernel.table import DUE_INDEX, JOBS
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.table import Record, Table

_PAGE = 500


class Leases:
    def __init__(self, table: Table) -> None:
        self._table = table

    def of_type(self, job_type: str, lane: str, earliest: datetime, latest: datetime) -> Iterator[DueJob]:
        """Jobs of a type that are in progress in a lane, by the end of their lease, which lies within these times.

        They stand in the due index among what falls due then: how much that is, is what this costs.
        """
        cursor: Record | None = None
        while True:
            page = self._table.query(
                JOBS,
                lane,
                index=DUE_INDEX,
                first=to_text(earliest),
                last=due_until(latest),
                limit=_PAGE,
                after=cursor,
            )
            for entry in map(due_entry, page.records):
                if isinstance(entry, DueJob) and entry.job_type == job_type and entry.status is JobStatus.IN_PROGRESS:
                    yield entry
            cursor = page.cursor
            if cursor is None:
                return
