"""Scan: merge partitions into one order, newest first, with no more requests than there are left.

All partitions of a scan are read down to one common line, the frontier: what lies above it is complete and in order,
and the next page starts below it. So a position is one sort key, whatever the number of partitions, and says nothing
about where to read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, cast

from leasehold.admin.pages import Order
from leasehold.kernel.keys import JobId, from_text, job_id_at
from leasehold.kernel.lanes import service_lanes
from leasehold.kernel.table import BY_DATE_INDEX, BY_TYPE_INDEX, DEAD_LETTERS, DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass
from leasehold.limits.model import is_group_scope
from leasehold.limits.waiting import is_told_by_name, lanes_by_name, lanes_waiting_for, waiting_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.groups.model import Group
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

    @property
    def records(self) -> list[Record]:
        return [record for _, record in self.entries]


@dataclass(slots=True)
class _PartitionReader:
    partition: str
    # The last sort key that was read; None before the first read.
    at: str | None
    is_started: bool = False
    is_over: bool = False


def read_page(
    table: Table, scan: IndexScan, below: str | None, wanted: int, budget: Budget, *, reserve: int = 0
) -> ScanPage:
    """Entries from below a position on. The budget has at least one request for each partition, and `reserve` more."""
    readers = [_PartitionReader(partition, below) for partition in scan.partitions]
    found: list[tuple[str, Record]] = []
    searched = 0
    while budget.left > reserve and (reader := _furthest_behind(readers)) is not None:
        frontier = _frontier(readers)
        if frontier is not None and sum(sort_key >= frontier for sort_key, _ in found) >= wanted:
            break
        budget.spend()
        records, read = _read_on(table, scan, reader, wanted)
        found += records
        searched += read
    frontier = _frontier(readers)
    complete = sorted((each for each in found if frontier is None or each[0] >= frontier), key=_sort_key, reverse=True)
    if len(complete) > wanted:
        frontier = complete[wanted - 1][0]
    return ScanPage(complete[:wanted], frontier, searched)


def _read_on(
    table: Table, scan: IndexScan, reader: _PartitionReader, wanted: int
) -> tuple[list[tuple[str, Record]], int]:
    """One request along one partition; what it found, and how many entries it read."""
    sort, limit, before = scan.source.sort, _look(scan, reader, wanted), reader.at
    last = min((bound for bound in (before, scan.last) if bound is not None), default=None)
    reader.is_started = True
    if scan.first is not None and last is not None and last < scan.first:
        reader.is_over = True  # as only a forged position can say
        return [], 0
    page = table.query(
        scan.source.table,
        reader.partition,
        index=scan.source.index,
        first=scan.first,
        last=last,
        limit=limit,
        newest_first=True,
        where=scan.where,
        consistent=False,
    )
    if page.cursor is None:
        reader.is_over = True
    else:
        reader.at = cast("str", page.cursor[sort])
    # Bounds are included: the entry at which the last read ended comes again.
    keyed = [(cast("str", record[sort]), record) for record in page.records if record[sort] != before]
    # A read that a filter thinned out says how much of it is left, not how much there was, unless it was full.
    read = limit if scan.where and page.cursor is not None else len(page.records)
    return [each for each in keyed if scan.keep is None or scan.keep(each[1])], read


def _look(scan: IndexScan, reader: _PartitionReader, wanted: int) -> int:
    if not scan.is_filtered:
        # One for the entry that comes again, and one so that a page that is exactly full knows whether more follow.
        return wanted + 2
    if reader.is_started or scan.source.index is not None:
        return _FURTHER_LOOK
    return min(_FIRST_LOOK * wanted + 2, _FURTHER_LOOK)


def _furthest_behind(readers: Sequence[_PartitionReader]) -> _PartitionReader | None:
    """Who holds the frontier up: a reader that was not read yet, else the one that has come down the least."""
    unread = [reader for reader in readers if not reader.is_started]
    if unread:
        return unread[0]
    going = [reader for reader in readers if not reader.is_over]
    return max(going, key=lambda reader: reader.at or "") if going else None


def _frontier(readers: Sequence[_PartitionReader]) -> str | None:
    """The line that every reader has reached; None if all are over. Before each was read there is none: above all."""
    if any(not reader.is_started for reader in readers):
        return "~"
    return max((cast("str", reader.at) for reader in readers if not reader.is_over), default=None)


def _sort_key(each: tuple[str, Record]) -> str:
    return each[0]


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

    @property
    def is_filtered(self) -> bool:
        return bool(self.where) or self.keep is not None

    @property
    def order(self) -> Order:
        return self.source.order

    def is_position(self, text: str) -> bool:
        return re.fullmatch(self.source.sort_key, text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberScan:
    """The members of a group, whose ids follow from their numbers; the last first."""

    name: str
    group: Group
    order: ClassVar = Order.MEMBER

    def is_position(self, text: str) -> bool:
        return re.fullmatch(r"\d{1,7}", text) is not None


type Scan = IndexScan | MemberScan


def job_id_of_entry(record: Record) -> JobId | None:
    """The job that an entry of an index, or a dedup record, stands for; None if there can be no such job."""
    names = ("job_pk", "job_sk") if "job_sk" in record else ("PK", "SK")
    pk, sk = (cast("str", record.get(name, "")) for name in names)
    return job_id_at(pk, sk)


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

    def group(self, group_id: str) -> Group:
        self.budget.spend()
        from leasehold.groups.stop import find_group

        return find_group(group_id, self.services)

    def waiting_lanes(self, job_type: str | None) -> WaitingLanes:
        """Where jobs are held. Lanes of keys are named after them; those of other scopes are read, a few of these."""
        self.budget.spend(1 + len(service_lanes(self.registry.shards)))
        lanes: set[str] = set()
        unread = 0
        reads = 0
        for scope in waiting_scopes(self.services, limit=_SCOPES_READ):
            found = [*lanes_by_name(scope)]
            if not is_told_by_name(scope) and reads < _LINES_READ:
                self.budget.spend()
                reads += 1
                read = lanes_waiting_for(scope, self.services, limit=_LANES_READ)
                unread += len(read) == _LANES_READ
                found += read
            elif not is_told_by_name(scope):
                unread += 1
            lanes |= {lane.name for lane in found if job_type is None or _is_of_type(lane.queue, job_type)}
        return WaitingLanes(sorted(lanes), is_whole=unread == 0)


@dataclass(frozen=True, slots=True)
class WaitingLanes:
    """Names of lanes; there are more where it is not whole."""

    names: Sequence[str]
    is_whole: bool


def _is_of_type(queue: str, job_type: str) -> bool:
    return is_group_scope(queue) or queue.partition("#")[0] == job_type


MAX_REQUESTS = 10


class Budget:
    def __init__(self, requests: int = MAX_REQUESTS) -> None:
        self.left = requests

    def spend(self, requests: int = 1) -> None:
        assert self.left >= requests, "a listing must look at its budget before it reads"
        self.left -= requests
