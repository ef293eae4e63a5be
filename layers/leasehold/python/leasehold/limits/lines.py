"""Access patterns of limits: the seats of a scope, and the line of lanes that wait for one.

A scope (everything, a resource, a type, a key, a rate) is one partition. Its first record says when it is looked at
next; then come its seats; then the lanes that wait for a seat, one record each, however many jobs wait in a lane.

- A seat whose record names nobody is free. It keeps who had it last: the newest of them is whose turn it was.
- Whoever looks at a scope first takes its look, and then reads the seats. Whoever frees a seat reads the scope
  afterwards, and has it looked at if lanes wait: it starts a poller that looks whenever the scope is due, or makes it
  due. Only a look that began after that makes theirs needless. So no freed seat is overlooked.
- A lane leaves its line, and a scope is forgotten, only when it was found empty twice, minutes apart: for longer
  than a poll trusts what it remembers, than an index lags, and than a poller lives.
- Handlers may only update here. What matters of a lane is its key, which an update cannot take away.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from leasehold.kernel import partitions
from leasehold.kernel.keys import Due, make_stamp, to_text
from leasehold.kernel.partitions import refusal
from leasehold.kernel.table import JOBS, ConditionFailed, Delete, Equals, Exists, Missing, Put, Update
from leasehold.kernel.type_options import MAX_SEATS
from leasehold.limits.lanes import is_asked_for
from leasehold.limits.scopes import (
    LANES,
    due_at,
    entry_of,
    mark_of,
    scope_and_line,
    scope_key,
    scope_of,
    seat_key,
    taking,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Attribute, Record, Table
    from leasehold.limits.scopes import Lane, LineEntry, Scope, Seat, Turn


# `:` follows the digits: the range covers the scope's own record and all of its seats.
_LAST_SEAT = ":"
_LAST_LANE = "lane$"
_TRIES = 3
# No poller lives as long: one that stands still between joining a line and holding its job dies before the line forgets
# its lane. And whoever looks again before learns no more than the first time.
EMPTY_FOR = timedelta(minutes=3)


class Moment(NamedTuple):
    """When somebody writes to a scope, by which stamp, and over how many shards looks are spread."""

    now: datetime
    stamp: str
    shards: int

    @classmethod
    def of(cls, services: Services) -> Moment:
        return cls(services.clock.now(), make_stamp(services.random_source), services.deployment.registry().shards)

    def due(self, scope: str, at: datetime) -> Record:
        return due_at(scope, at, self.now, self.stamp, self.shards)

    @property
    def look(self) -> str:
        return mark_of(self.now, self.stamp)


class Lines:
    def __init__(self, table: Table) -> None:
        self._table = table

    def scope(self, name: str) -> Scope:
        """A scope with its taken seats, in one consistent read."""
        page = self._table.query(
            JOBS, partitions.scope_partition(name), first=partitions.SCOPE, last=_LAST_SEAT, limit=MAX_SEATS + 1
        )
        return scope_and_line(name, page.records)[0]

    def seen(self, name: str) -> Scope:
        """A scope without its seats: whether lanes wait for it, and who looked last; one small read."""
        return scope_of(name, self._table.get(scope_key(name)))

    def line(self, name: str, *, limit: int) -> tuple[Scope, list[LineEntry], bool]:
        """A scope with its seats, the first lanes that wait for one, and whether these are all; mostly in one read."""
        page = self._table.query(JOBS, partitions.scope_partition(name), limit=limit)
        scope, entries = scope_and_line(name, page.records)
        if page.cursor is not None and not entries:
            return self.scope(name), [], False
        return scope, entries, page.cursor is None

    def entries(self, scope: str, *, limit: int, first: str = LANES, last: str = _LAST_LANE) -> list[LineEntry]:
        """Lanes that wait for a scope, in the order of their keys, consistently."""
        page = self._table.query(JOBS, partitions.scope_partition(scope), first=first, last=last, limit=limit)
        return [entry_of(scope, record) for record in page.records]

    def entry(self, scope: str, lane: Lane) -> LineEntry | None:
        record = self._table.get(scope_key(scope, lane.sort))
        return entry_of(scope, record) if record else None

    def join(self, entry: LineEntry, seen: LineEntry | None) -> bool:
        """Have a lane wait, or go on waiting after it was found empty; False if somebody changed its entry."""
        as_seen = Missing("PK") if seen is None else Equals("stamp", seen.stamp)
        record: Record = {"since": to_text(entry.since), "stamp": entry.stamp}
        key = scope_key(entry.scope, entry.lane.sort)
        stands = refusal(self._table, Put(key=key, record=record, conditions=(as_seen,)))
        # Ours, by a try whose response was lost, or another's that is as good.
        return stands is None or (bool(stands) and "empty_since" not in stands)

    def note_empty(self, entry: LineEntry, moment: Moment) -> bool:
        key, sets = scope_key(entry.scope, entry.lane.sort), {"empty_since": to_text(moment.now), "stamp": moment.stamp}
        return self._try(Update(key=key, conditions=(Equals("stamp", entry.stamp),), sets=sets))

    def leave(self, entry: LineEntry) -> bool:
        key = scope_key(entry.scope, entry.lane.sort)
        return self._try(Delete(key=key, conditions=(Equals("stamp", entry.stamp),)))

    def expect(self, scope: Scope, at: datetime, moment: Moment) -> bool:
        """Have a scope looked at before a lane waits for it; False if the scope changed since it was read."""
        change = _of_scope(scope.name, scope.due_key, moment.due(scope.name, at), removes=frozenset({"empty_since"}))
        if scope.due_key is None:
            unseen = (Exists("PK"), Missing("due_key")) if scope.exists else (Missing("PK"),)
            change = replace(change, conditions=unseen)
        return self._try(change)

    def take_look(self, name: str, seen: str, next_at: datetime, moment: Moment) -> Scope | None:
        """Be the one who looks at a scope now, and put the next look off; None if another was faster."""
        sets = {**moment.due(name, next_at), "look": moment.look}
        return self._begin_look(name, _of_scope(name, seen, sets, adds={"looks": 1}))

    def look_now(self, seen: Scope, moment: Moment) -> Scope | None:
        """Be the one who looks at a scope whenever it is due, and leave that as it is; None if it changed meanwhile.

        It stays where it is in the due index, which makes this a third of what another look costs.
        """
        as_seen = Missing("look") if seen.look is None else Equals("look", seen.look)
        change = _of_scope(seen.name, seen.due_key, {"look": moment.look, "wake": False}, adds={"looks": 1})
        return self._begin_look(seen.name, replace(change, conditions=(*change.conditions, as_seen)))

    def _begin_look(self, name: str, change: Update) -> Scope | None:
        try:
            record = self._table.write(change)
        except ConditionFailed as failed:
            if failed.current is None or failed.current.get("look") != change.sets["look"]:
                return None
            record = failed.current  # an earlier try of ours, whose response was lost
        return scope_of(name, record)

    def look_at(
        self, scope: Scope, at: datetime, moment: Moment, *, is_empty: bool = False, place: Turn | None = None
    ) -> Scope | None:
        """Look at another time than was thought, and go on from a `place`; None if somebody touched it meanwhile."""
        sets = moment.due(scope.name, at)
        if place is not None:
            sets |= {"place": place.lane.sort, "place_at": to_text(place.at), "place_due": place.due_key}
        if is_empty:
            sets["empty_since"] = to_text(moment.now)
        due_key = cast("str", sets["due_key"])
        if not self._try(_of_scope(scope.name, scope.due_key, sets)):
            return None
        return replace(scope, due_key=due_key, empty_since=moment.now if is_empty else scope.empty_since)

    def put_off(self, looks: Sequence[tuple[str, str, datetime]], moment: Moment) -> None:
        """Put many looks off, each as it was seen; whom that is refused to, or whoever was touched since, stays due."""
        self._table.update_many([_of_scope(name, seen, moment.due(name, at)) for name, seen, at in looks])

    def park(self, scope: Scope) -> bool:
        """Take the scope out of the due index until somebody wakes it (a pause ends, a type is deployed)."""
        return self._try(_of_scope(scope.name, scope.due_key, {}, removes=frozenset({"due_lane", "due_key"})))

    def forget(self, scope: Scope) -> bool:
        return self._try(Delete(key=scope_key(scope.name), conditions=(Equals("due_key", scope.due_key or ""),)))

    def nudge(self, name: str, moment: Moment) -> None:
        """Have a scope looked at now, because a seat is free.

        Not if it is parked, or nobody waits: then a read is all that this costs.
        """
        seen = first = self.seen(name)
        sets = moment.due(name, moment.now)
        for _ in range(_TRIES):
            # Whoever began to look since then reads the seats after this one was free.
            if not seen.is_looked_at or seen.look != first.look:
                return
            due_key = cast("str", seen.due_key)
            if Due.parse(due_key).at <= moment.now and is_asked_for(due_key):
                return
            if self._try(_of_scope(name, due_key, sets)):
                return
            # A look that began before may just have put the next one off: it has not seen what is free now.
            seen = self.seen(name)

    def take(self, seat: Seat, seen: Seat | None) -> bool:
        """Take a seat for something that is no job; False if another has it."""
        stands = refusal(self._table, taking(seat, seen))
        # It may be ours, by a try whose response was lost.
        return stands is None or stands.get("taken_by") == seat.taken_by

    def free(self, scope: str, number: int, taken_by: str) -> bool:
        """Free a seat; False if another claim has it by now."""
        change = Update(
            key=seat_key(scope, number),
            conditions=(Equals("taken_by", taken_by),),
            removes=frozenset({"taken_by", "job_id", "held_until"}),
        )
        stands = refusal(self._table, change)
        # A seat that is free was freed by a try whose response was lost: who waits for it is still to be woken.
        return stands is None or "taken_by" not in stands

    def _try(self, change: Update | Delete) -> bool:
        stands = refusal(self._table, change)
        if stands is None:
            return True
        # It may be our own, by a try whose response was lost.
        return isinstance(change, Update) and bool(change.sets) and change.sets.items() <= stands.items()


def _of_scope(name: str, seen: str | None, sets: Mapping[str, Attribute], **more: Any) -> Update:
    """Change a scope that is due as it was `seen`."""
    return Update(key=scope_key(name), conditions=(Equals("due_key", seen or ""),), sets=sets, **more)
