"""List: go through the stages of a plan until the page is full or its requests are used up."""

from __future__ import annotations

import re
from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING

from leasehold.admin.pages import (
    Order,
    Page,
    Position,
    check_limit,
    decode_cursor,
    decode_position,
    encode_cursor,
    fingerprint,
    pointless_cursor,
)
from leasehold.admin.planning import DEDUP_KEY, plan_of
from leasehold.admin.scanning import BY_NAME, TABLE_ORDER, IndexScan, QueryContext, read_page
from leasehold.kernel import partitions
from leasehold.kernel.job import Job, job_of
from leasehold.kernel.keys import key_of
from leasehold.kernel.table import JOBS
from leasehold.kernel.trust import is_trusted, report
from leasehold.kernel.unreadable import read_each
from leasehold.lean import dataclass
from leasehold.operate.listings import job_id_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.admin.pages import JobFilter
    from leasehold.admin.planning import Stage
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record
    from leasehold.kernel.unreadable import Unreadable


# Kept for what an index does not hold: the jobs themselves, or the dedup records that point to them.
_FETCH = 1
# As many as one request can fetch.
_BATCH = 100


def list_jobs(wanted: JobFilter, services: Services, *, limit: object, cursor: str | None) -> Page[Job]:
    most = check_limit(limit)
    start = Position("", None) if cursor is None else decode_cursor(cursor, wanted.fingerprint)
    if not wanted.wanted_statuses:
        return Page(items=())
    context = QueryContext(services)
    plan = plan_of(wanted, context.registry)
    builder = _PageBuilder(wanted, context, most)
    end = builder.fill(plan.stages, start) if wanted.group_id is None else builder.fill_with_members(start.below)
    scan, jobs = builder.scan, builder.jobs()
    if plan is DEDUP_KEY and scan is not None and scan.source is TABLE_ORDER:
        jobs = _without_key_holders(jobs, services)
    return Page(
        items=tuple(jobs),
        cursor=None if end is None else encode_cursor(end, wanted.fingerprint),
        order=plan.order if scan is None else scan.source.order,
        is_ordered=plan.is_ordered(wanted, context),
        searched=builder.searched,
        reached=None if scan is None or end is None or end.below is None else scan.source.time_of(end.below),
        unreadable=tuple(builder.unreadable),
    )


@dataclass(slots=True)
class _PageBuilder:
    """What one page has come to: whole jobs, or the ids of those that are still to be fetched."""

    wanted: JobFilter
    context: QueryContext
    limit: int
    # By their sort keys, since scans may follow each other on one page.
    found: list[tuple[str, Job | JobId]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    searched: int = 0
    # The last that was read.
    scan: IndexScan | None = None

    def fill(self, stages: Sequence[Stage], start: Position) -> Position | None:
        """Gather what the page has room for; returns where the next one starts, None if the listing is over."""
        for stage in stages:
            if stage.name < start.scan.partition(":")[0]:
                continue
            if self.context.budget.left <= stage.cost + _FETCH:
                return Position(f"{stage.name}:", None)
            for scan in stage.scans(self.wanted, self.context):
                if scan.name < start.scan:
                    continue
                below = start.below if start.scan == scan.name else None
                if below is not None and not scan.is_position(below):
                    raise pointless_cursor(below)
                if self._can_read(scan):
                    self.scan = scan
                    below = self._read(scan, below)
                    if below is None:
                        continue
                return Position(scan.name, below)
        return None

    def _can_read(self, scan: IndexScan) -> bool:
        """One request for each partition, and room on the page; a page is of one order."""
        is_in_order = not self.found or self.scan is None or self.scan.source.order is scan.source.order
        has_requests = self.context.budget.left >= len(scan.partitions) + _FETCH
        return is_in_order and has_requests and len(self.found) < self.limit

    def _read(self, scan: IndexScan, below: str | None) -> str | None:
        services, room = self.context.services, self.limit - len(self.found)
        page = read_page(services.store.table, scan, below, room, self.context.budget, reserve=_FETCH)
        for sort_key, record in page.entries:
            if scan.source is TABLE_ORDER:
                listed = read_each([record], job_of)
                self.found += [(sort_key, each) for each in listed.items]
                self.unreadable += listed.unreadable
            elif (job_id := job_id_in(record)) is not None:
                self.found.append((sort_key, job_id))
            else:
                report(f"{record['PK']!r} {record['SK']!r}", "a listing met it, and it is no job's", services)
        self.searched += page.searched
        return page.below

    def fill_with_members(self, below: str | None) -> Position | None:
        """The members of a group, whose ids follow from their numbers: the last first."""
        from leasehold.groups.stop import find_group

        if below is not None and not re.fullmatch(r"\d{1,7}", below):
            raise pointless_cursor(below)
        budget = self.context.budget
        budget.spend()
        group = find_group(self.wanted.group_id, self.context.services)
        # All from this number on were looked at.
        top = group.made if below is None else min(int(below), group.made)
        while top > 0 and budget.left and len(self.found) < self.limit:
            numbers = range(top - 1, max(top - 1 - _BATCH, -1), -1)
            budget.spend()
            fetched = self._look_up([group.member_id(number) for number in numbers])
            for number in numbers:
                top = number
                self.searched += 1
                job = fetched.get(group.member_id(number))
                if job is not None and self._is_listed(job):
                    self.found.append((f"{number:07d}", job))
                    if len(self.found) == self.limit:
                        break
        return Position("1-members:", str(top)) if top > 0 else None

    def jobs(self) -> list[Job]:
        """The jobs of the page, as they are now, as far as they still match."""
        listed = [each for _, each in sorted(self.found, key=itemgetter(0), reverse=True)]
        fetched = self._look_up([each for each in listed if not isinstance(each, Job)])
        read = (each if isinstance(each, Job) else fetched.get(each) for each in listed)
        # An index that lags may show a job in the lane that it left, too.
        jobs = {job.job_id: job for job in read if job is not None}
        return [job for job in jobs.values() if self._is_listed(job)]

    def _is_listed(self, job: Job) -> bool:
        return self.wanted.matches(job) and is_trusted(job.job_id, job.job_type, self.context.services)

    def _look_up(self, job_ids: Sequence[JobId]) -> dict[JobId, Job]:
        fetched, damaged = self.context.services.store.listings.look_up(job_ids) if job_ids else ({}, [])
        self.unreadable += damaged
        return fetched


def _without_key_holders(jobs: list[Job], services: Services) -> list[Job]:
    """Without those that an earlier stage has shown, because their dedup record points to them."""
    refs = [partitions.dedup(job.dedup) for job in jobs if job.dedup is not None]
    records = services.store.table.get_many(refs) if refs else []
    holders = {record["job_sk"] for record in records}
    return [job for job in jobs if key_of(job.job_id).sk not in holders]


def list_named[Item](
    partition: str,
    read: Callable[[Record], Item],
    services: Services,
    *,
    limit: object,
    cursor: str | None,
) -> Page[Item]:
    most, own = check_limit(limit), fingerprint(partition)
    name = decode_position(cursor, own, IndexScan(name=partition, source=BY_NAME, partitions=(partition,)))
    after: Record | None = None if name is None else {"PK": partition, "SK": name}
    page = services.store.table.query(JOBS, partition, limit=most, after=after)
    end = None if page.cursor is None else encode_cursor(Position(partition, str(page.cursor["SK"])), own)
    listed = read_each(page.records, read)
    return Page(
        items=tuple(listed.items),
        cursor=end,
        order=Order.NAME,
        searched=len(page.records),
        unreadable=tuple(listed.unreadable),
    )
