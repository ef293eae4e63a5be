"""Scan: merge partitions into one order, newest first, with no more requests than there are left.

All partitions of a scan are read down to one common line, the frontier: what lies above it is complete and in order,
and the next page starts below it. So a position is one sort key, whatever the number of partitions, and says nothing
about where to read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, cast

from leasehold.admin.pages import Order
from leasehold.kernel.keys import from_text
from leasehold.kernel.lanes import service_lanes
from leasehold.kernel.table import BY_DATE_INDEX, BY_TYPE_INDEX, DEAD_LETTERS, DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass
from leasehold.limits.lanes import type_of_queue
from leasehold.limits.model import is_group_scope
from leasehold.limits.waiting import is_told_by_name, lanes_by_name, lanes_waiting_for, waiting_scopes

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.kernel.registry import Registry
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Condition, Index, Record, Table, TableDefinition


# Reads of a filtered partition: as many as cost some 64 read units of whole jobs, half of that of an index. The first
# look at whole jobs is a modest guess.
_FIRST_LOOK = 5
_FURTHER_LOOK = 1000


@dataclass(frozen=True, slots=True)
class ScanPage:
    """What one page takes from a scan: records with their sort keys, the highest first.

    `below` is where the next page goes on; None if the scan is over.
    """

    entries: list[tuple[str, Record]]
    below: str | None
    searched: int


# Where a partition stands that was not read yet, and one that was read to its end: beyond every sort key.
_UNREAD, _OVER = "~", ""


def read_page(
    table: Table, scan: IndexScan, below: str | None, wanted: int, budget: Budget, *, reserve: int = 0
) -> ScanPage:
    """Entries from below a position on. The budget has at least one request for each partition, and `reserve` more."""
    reached = dict.fromkeys(scan.partitions, below or _UNREAD)
    found: list[tuple[str, Record]] = []
    searched = 0
    # The frontier is where the partition stands that has come down the least: it is read on.
    while budget.left > reserve and (frontier := max(reached.values(), default=_OVER)) != _OVER:
        if sum(sort_key >= frontier for sort_key, _ in found) >= wanted:
            break
        partition = max(reached, key=reached.__getitem__)
        budget.spend()
        limit = _look(scan, wanted, is_first=frontier in {below, _UNREAD})
        records, read, reached[partition] = _read_on(table, scan, partition, frontier, limit)
        found += records
        searched += read
    frontier = max(reached.values(), default=_OVER)
    complete = sorted((each for each in found if each[0] >= frontier), key=itemgetter(0), reverse=True)
    if len(complete) > wanted:
        frontier = complete[wanted - 1][0]
    return ScanPage(complete[:wanted], frontier or None, searched)


def _read_on(
    table: Table, scan: IndexScan, partition: str, at: str, limit: int
) -> tuple[list[tuple[str, Record]], int, str]:
    """One request along one partition; what it found, how many entries it read, and where the partition stands now."""
    last = min((bound for bound in (at, scan.last) if bound not in {_UNREAD, None}), default=None)
    if scan.first is not None and last is not None and last < scan.first:
        return [], 0, _OVER  # as only a forged position can say
    page = table.query(
        scan.source.table,
        partition,
        index=scan.source.index,
        first=scan.first,
        last=last,
        limit=limit,
        newest_first=True,
        where=scan.where,
        consistent=False,
    )
    sort = scan.source.sort
    # Bounds are included: the entry at which the last read ended comes again.
    keyed = [(cast("str", record[sort]), record) for record in page.records if record[sort] != at]
    # A read that a filter thinned out says how much of it is left, not how much there was, unless it was full.
    read = limit if scan.where and page.cursor is not None else len(page.records)
    kept = [each for each in keyed if scan.keep is None or scan.keep(each[1])]
    return kept, read, _OVER if page.cursor is None else cast("str", page.cursor[sort])


def _look(scan: IndexScan, wanted: int, *, is_first: bool) -> int:
    if not scan.where and scan.keep is None:
        # One for the entry that comes again, and one so that a page that is exactly full knows whether more follow.
        return wanted + 2
    if scan.source.index is None and is_first:
        return min(_FIRST_LOOK * wanted + 2, _FURTHER_LOOK)
    return _FURTHER_LOOK


# With the registry and the jobs themselves, which an index does not hold, that makes ten requests.
MAX_PARTITIONS = 8

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@dataclass(frozen=True, slots=True)
class Source:
    """A table's own order, or that of an index: its sort keys are unique over all partitions, or only within each.

    sort_key: what one looks like; where it has a time, that is the group.
    """

    table: TableDefinition
    index: Index | None
    order: Order
    sort_key: str

    @property
    def sort(self) -> str:
        return self.index.sort if self.index else self.table.key[1]

    def time_of(self, sort_key: str) -> datetime | None:
        found = re.fullmatch(self.sort_key, sort_key)
        return from_text(found[1]) if found and found.re.groups else None


TABLE_ORDER = Source(JOBS, None, Order.SCHEDULED, rf"scheduled#({_TIME})#[0-9a-f-]{{36}}")
DUE_JOBS = Source(JOBS, DUE_INDEX, Order.DUE, rf"({_TIME})#[0-9a-z]+#.{{1,600}}")
ENDED_JOBS = Source(JOBS, ENDED_INDEX, Order.ENDED, rf"({_TIME})#.{{1,600}}")
DEDUP_RECORDS = Source(JOBS, None, Order.DEDUP_WINDOW, r"-|\d{4}-\d\d-\d\d")
OPEN_DEAD_LETTERS = Source(DEAD_LETTERS, BY_DATE_INDEX, Order.FAILED, rf"({_TIME})#[0-9a-f-]{{36}}")
OPEN_DEAD_LETTERS_OF_TYPE = replace(OPEN_DEAD_LETTERS, index=BY_TYPE_INDEX)
BY_NAME = Source(JOBS, None, Order.NAME, r"(?s:.+)")
AUDIT_TRAIL = Source(JOBS, None, Order.CREATED, rf"({_TIME})#[0-9a-f]{{1,64}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexScan:
    """Partitions that are read together, the newest first. Scans follow each other in the order of their names."""

    name: str
    source: Source
    partitions: tuple[str, ...]
    first: str | None = None
    # Excluded: no sort key equals a time, or the date of one, alone.
    last: str | None = None
    where: tuple[Condition, ...] = ()
    # Whether an entry can match, by what the index shows of it.
    keep: Callable[[Record], bool] | None = None

    def is_position(self, text: str) -> bool:
        return re.fullmatch(self.source.sort_key, text) is not None


_SCOPES_READ = 1000
# Lines of scopes that types share, and lanes of each, that are read for one listing.
_LINES_READ = 2
_LANES_READ = 100


class QueryContext:
    """What a listing asks before it reads, within its requests."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.budget = Budget()
        self.budget.spend()
        self.registry: Registry = services.deployment.registry()
        self.now: datetime = services.clock.now()

    @property
    def leases_over(self) -> datetime:
        """When the last of the leases that are held now will be over, by the types that are deployed."""
        leases = (each.lease_length for each in self.registry.types.values())
        return self.now + max(leases, default=timedelta(0)) + CLOCK_TOLERANCE

    def waiting_lanes(self, job_type: str | None) -> tuple[list[str], bool]:
        """Where jobs are held, and whether that is all. Lanes of keys are named after them; a few others are read."""
        self.budget.spend(1 + len(service_lanes(self.registry.shards)))
        scopes = waiting_scopes(self.services, limit=_SCOPES_READ)
        lanes = [lane for scope in scopes for lane in lanes_by_name(scope)]
        lines = [scope for scope in scopes if not is_told_by_name(scope)]
        is_whole = len(lines) <= _LINES_READ
        for scope in lines[:_LINES_READ]:
            self.budget.spend()
            read = lanes_waiting_for(scope, self.services, limit=_LANES_READ)
            is_whole &= len(read) < _LANES_READ
            lanes += read
        wanted = (lane for lane in lanes if is_group_scope(lane.queue) or job_type in {None, type_of_queue(lane.queue)})
        return sorted({lane.name for lane in wanted}), is_whole


MAX_REQUESTS = 10


@dataclass(slots=True)
class Budget:
    """How many requests are left to a listing."""

    left: int = MAX_REQUESTS

    def spend(self, requests: int = 1) -> None:
        assert self.left >= requests, "a listing must look at its budget before it reads"
        self.left -= requests
