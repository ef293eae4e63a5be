"""Walk: merge partitions into one order, newest first, with no more requests than there are left.

All partitions of a leg are read down to one common line, the frontier: what lies above it is complete and in order,
and the next page starts below it. So a position is one sort key, whatever the number of partitions, and says nothing
about where to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.admin.budget import Budget
    from leasehold.admin.legs import Walk
    from leasehold.store.table import Record, Table

# Reads of a filtered partition: as many as cost some 64 read units of whole jobs, half of that of an index. The first
# look at whole jobs is a modest guess.
_FIRST_LOOK = 5
_FURTHER_LOOK = 1000


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one page takes from a leg: records with their sort keys, the highest first.

    `below` is where the next page goes on; None if the leg is over.
    """

    entries: list[tuple[str, Record]]
    below: str | None
    searched: int

    @property
    def records(self) -> list[Record]:
        return [record for _, record in self.entries]


@dataclass(slots=True)
class _Trail:
    partition: str
    # The last sort key that was read; None before the first read.
    at: str | None
    is_started: bool = False
    is_over: bool = False


def walk(table: Table, leg: Walk, below: str | None, wanted: int, budget: Budget, *, reserve: int = 0) -> Stretch:
    """Entries from below a position on. The budget has at least one request for each partition, and `reserve` more."""
    trails = [_Trail(partition, below) for partition in leg.partitions]
    found: list[tuple[str, Record]] = []
    searched = 0
    while budget.left > reserve and (trail := _laggard(trails)) is not None:
        frontier = _frontier(trails)
        if frontier is not None and sum(sort_key >= frontier for sort_key, _ in found) >= wanted:
            break
        budget.spend()
        records, read = _read_on(table, leg, trail, wanted)
        found += records
        searched += read
    frontier = _frontier(trails)
    complete = sorted((each for each in found if frontier is None or each[0] >= frontier), key=_sort_key, reverse=True)
    if len(complete) > wanted:
        frontier = complete[wanted - 1][0]
    return Stretch(complete[:wanted], frontier, searched)


def _read_on(table: Table, leg: Walk, trail: _Trail, wanted: int) -> tuple[list[tuple[str, Record]], int]:
    """One request along one partition; what it found, and how many entries it read."""
    sort, limit, before = leg.source.sort, _look(leg, trail, wanted), trail.at
    last = min((bound for bound in (before, leg.last) if bound is not None), default=None)
    trail.is_started = True
    if leg.first is not None and last is not None and last < leg.first:
        trail.is_over = True  # as only a forged position can say
        return [], 0
    page = table.query(
        leg.source.table,
        trail.partition,
        index=leg.source.index,
        first=leg.first,
        last=last,
        limit=limit,
        newest_first=True,
        where=leg.where,
        consistent=False,
    )
    if page.cursor is None:
        trail.is_over = True
    else:
        trail.at = cast("str", page.cursor[sort])
    # Bounds are included: the entry at which the last read ended comes again.
    keyed = [(cast("str", record[sort]), record) for record in page.records if record[sort] != before]
    # A read that a filter thinned out says how much of it is left, not how much there was, unless it was full.
    read = limit if leg.where and page.cursor is not None else len(page.records)
    return [each for each in keyed if leg.keep(each[1])], read


def _look(leg: Walk, trail: _Trail, wanted: int) -> int:
    if not leg.is_filtered:
        # One for the entry that comes again, and one so that a page that is exactly full knows whether more follow.
        return wanted + 2
    if trail.is_started or leg.source.index is not None:
        return _FURTHER_LOOK
    return min(_FIRST_LOOK * wanted + 2, _FURTHER_LOOK)


def _laggard(trails: Sequence[_Trail]) -> _Trail | None:
    """Who holds the frontier up: a trail that was not read yet, else the one that has come down the least."""
    unread = [trail for trail in trails if not trail.is_started]
    if unread:
        return unread[0]
    going = [trail for trail in trails if not trail.is_over]
    return max(going, key=lambda trail: trail.at or "") if going else None


def _frontier(trails: Sequence[_Trail]) -> str | None:
    """The line that every trail has reached; None if all are over. Before each was read there is none: above all."""
    if any(not trail.is_started for trail in trails):
        return "~"
    return max((cast("str", trail.at) for trail in trails if not trail.is_over), default=None)


def _sort_key(each: tuple[str, Record]) -> str:
    return each[0]
