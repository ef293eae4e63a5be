"""Access patterns of limits: the seats of a scope, and the line of lanes that wait for one.

A scope (everything, a resource, a type, a key, a rate) is one partition. Its first record says when it is looked at
next; then come its seats; then the lanes that wait for a seat, one record each, however many jobs wait in a lane.

- A seat whose record names nobody is free. It keeps who had it last: the newest of them is whose turn it was.
- Whoever looks at a scope first takes its look, and then reads the seats. Whoever frees a seat reads the scope
  afterwards, and has it looked at if lanes wait: it starts a poller that looks whenever the scope is due, or makes it
  due. Only a look that began after that makes theirs needless. So no freed seat is overlooked.
- A lane leaves its line, and a scope is forgotten, only when it was found empty twice, a minute apart: for longer than
  a poll trusts what it remembers, and than an index lags.
- Handlers may only update here. What matters of a lane is its key, which an update cannot take away.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel import keys
from leasehold.kernel.due import Due, Priority, from_text, hold_lane, is_asked_for, to_text
from leasehold.kernel.jobs import _mark, due_at
from leasehold.kernel.lean import dataclass
from leasehold.kernel.table import JOBS, ConditionFailed, Delete, Equals, Exists, Missing, Put, Update
from leasehold.kernel.type_options import MAX_SEATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Condition, Record, Table


# `:` follows the digits: the range covers the scope's own record and all of its seats.
_LAST_SEAT = ":"
_LANES, _LAST_LANE = "lane#", "lane$"
_TRIES = 3
_TIDIED_AFTER = timedelta(days=1)
# Whoever looks again before is not told more than the first time.
EMPTY_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Jobs that share their priority and their limits, in the order in which they will run."""

    priority: Priority
    queue: str

    @property
    def name(self) -> str:
        return hold_lane(self.queue, self.priority)

    @property
    def sort(self) -> str:
        """Its place in a line: the highest priority first."""
        return f"{first_of(self.priority)}{self.queue}"

    @classmethod
    def parse(cls, sort: str) -> Lane:
        _, level, queue = sort.split("#", 2)
        return cls(priority=Priority(Priority.CRITICAL - int(level)), queue=queue)


def first_of(priority: Priority) -> str:
    """What the lanes of a priority begin with in every line."""
    return f"lane#{Priority.CRITICAL - priority}#"


@dataclass(frozen=True, slots=True)
class Turn:
    """A lane was given a seat, for the job that had this due key."""

    lane: Lane
    at: datetime
    due_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A place in a limit. Without a job it is free again once its time is over; with one, once that job is gone too."""

    scope: str
    number: int
    taken_by: str
    taken_at: datetime
    held_until: datetime
    job_id: JobId | None = None
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Taking:
    """A seat to take: a free one, or in the place of one whose holder was `seen` to be gone."""

    seat: Seat
    seen: Seat | None = None

    @property
    def change(self) -> Put:
        seat = self.seat
        record: Record = {
            "taken_by": seat.taken_by,
            "taken_at": to_text(seat.taken_at),
            "held_until": to_text(seat.held_until),
            # Scopes of keys come and go: a seat that nobody takes over shall not stay for ever.
            "expires_at": int((seat.held_until + _TIDIED_AFTER).timestamp()),
        }
        if seat.job_id is not None:
            record["job_id"] = seat.job_id
        if seat.turn is not None:
            record["lane"] = seat.turn.lane.sort
            record["job_due"] = seat.turn.due_key
        return Put(
            key=keys.seat(seat.scope, seat.number),
            record=record,
            conditions=(Missing("taken_by"),) if self.seen is None else (Equals("taken_by", self.seen.taken_by),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEntry:
    """A lane that waits for a seat of a scope. `stamp` changes with it."""

    scope: str
    lane: Lane
    since: datetime
    stamp: str
    # When nothing was found in it, for the first time since something was put into it.
    empty_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope as it was read: `due_key` is None while it is parked, and while nobody waits for it."""

    name: str
    exists: bool = False
    due_key: str | None = None
    looks: int = 0
    # When the last look began, and whose it was.
    look: str | None = None
    empty_since: datetime | None = None
    seats: Mapping[int, Seat] = field(default_factory=dict)
    # The lane that a visit came to which could not be finished, and the job that it took last.
    place: Turn | None = None
    # Who was given a seat, the last first, as far as the seats remember.
    turns: Sequence[Turn] = ()

    @property
    def is_waited_for(self) -> bool:
        return self.exists and self.empty_since is None

    @property
    def is_looked_at(self) -> bool:
        """Whether a free seat is of use to anybody: lanes wait, and none of a switch that stops them all."""
        return self.is_waited_for and self.due_key is not None


class Lines:
    def __init__(self, table: Table) -> None:
        self._table = table

    def scope(self, name: str) -> Scope:
        """A scope with its taken seats, in one consistent read."""
        page = self._table.query(
            JOBS, keys.scope_partition(name), first=keys.SCOPE, last=_LAST_SEAT, limit=MAX_SEATS + 1
        )
        return _read(name, page.records)[0]

    def seen(self, name: str) -> Scope:
        """A scope without its seats: whether lanes wait for it, and who looked last; one small read."""
        return _scope_of(name, self._table.get(keys.scope(name)))

    def line(self, name: str, *, limit: int) -> tuple[Scope, list[LineEntry], bool]:
        """A scope with its seats, the first lanes that wait for one, and whether these are all; mostly in one read."""
        page = self._table.query(JOBS, keys.scope_partition(name), limit=limit)
        scope, entries = _read(name, page.records)
        if page.cursor is not None and not entries:
            return self.scope(name), [], False
        return scope, entries, page.cursor is None

    def entries(self, scope: str, *, limit: int, first: str = _LANES, last: str = _LAST_LANE) -> list[LineEntry]:
        """Lanes that wait for a scope, in the order of their keys, consistently."""
        page = self._table.query(JOBS, keys.scope_partition(scope), first=first, last=last, limit=limit)
        return [_entry_of(scope, record) for record in page.records]

    def entry(self, scope: str, lane: Lane) -> LineEntry | None:
        record = self._table.get(keys.line_entry(scope, lane.sort))
        return _entry_of(scope, record) if record else None

    def join(self, entry: LineEntry, seen: LineEntry | None) -> bool:
        """Have a lane wait, or go on waiting after it was found empty; False if somebody changed its entry."""
        as_seen = (Missing("PK"),) if seen is None else (Equals("stamp", seen.stamp),)
        record: Record = {"since": to_text(entry.since), "stamp": entry.stamp}
        key = keys.line_entry(entry.scope, entry.lane.sort)
        try:
            self._table.write(Put(key=key, record=record, conditions=as_seen))
        except ConditionFailed as failed:
            # Ours, by a try whose response was lost, or another's that is as good.
            return failed.current is not None and "empty_since" not in failed.current
        return True

    def note_empty(self, entry: LineEntry, now: datetime, stamp: str) -> bool:
        return self._try(
            Update(
                key=keys.line_entry(entry.scope, entry.lane.sort),
                conditions=(Equals("stamp", entry.stamp),),
                sets={"empty_since": to_text(now), "stamp": stamp},
            )
        )

    def leave(self, entry: LineEntry) -> bool:
        key = keys.line_entry(entry.scope, entry.lane.sort)
        return self._try(Delete(key=key, conditions=(Equals("stamp", entry.stamp),)))

    def expect(self, scope: Scope, at: datetime, now: datetime, *, stamp: str, shards: int) -> bool:
        """Have a scope looked at before a lane waits for it; False if the scope changed since it was read."""
        unchanged: tuple[Condition, ...]
        if not scope.exists:
            unchanged = (Missing("PK"),)
        elif scope.due_key is None:
            unchanged = (Exists("PK"), Missing("due_key"))
        else:
            unchanged = (Equals("due_key", scope.due_key),)
        return self._try(
            Update(
                key=keys.scope(scope.name),
                conditions=unchanged,
                sets=due_at(scope.name, at, now, stamp, shards),
                removes=frozenset({"empty_since"}),
            )
        )

    def take_look(
        self, name: str, seen: str, next_at: datetime, now: datetime, *, stamp: str, shards: int
    ) -> Scope | None:
        """Be the one who looks at a scope now, and put the next look off; None if another was faster."""
        sets = {**due_at(name, next_at, now, stamp, shards), "look": _mark(now, stamp)}
        return self._begin_look(name, (Equals("due_key", seen),), sets)

    def look_now(self, seen: Scope, now: datetime, *, stamp: str) -> Scope | None:
        """Be the one who looks at a scope whenever it is due, and leave that as it is; None if it changed meanwhile.

        It stays where it is in the due index, which makes this a third of what another look costs.
        """
        as_seen: Condition = Missing("look") if seen.look is None else Equals("look", seen.look)
        unchanged = (Equals("due_key", seen.due_key or ""), as_seen)
        return self._begin_look(seen.name, unchanged, {"look": _mark(now, stamp), "wake": False})

    def _begin_look(self, name: str, unchanged: Sequence[Condition], sets: Record) -> Scope | None:
        try:
            record = self._table.write(
                Update(key=keys.scope(name), conditions=tuple(unchanged), sets=sets, adds={"looks": 1})
            )
        except ConditionFailed as failed:
            if failed.current is None or failed.current.get("look") != sets["look"]:
                return None
            record = failed.current  # an earlier try of ours, whose response was lost
        return _scope_of(name, record)

    def look_at(
        self,
        scope: Scope,
        at: datetime,
        now: datetime,
        *,
        stamp: str,
        shards: int,
        is_empty: bool = False,
        place: Turn | None = None,
    ) -> Scope | None:
        """Look at another time than was thought, and go on from a `place`; None if somebody touched it meanwhile."""
        sets = due_at(scope.name, at, now, stamp, shards)
        if place is not None:
            sets |= {"place": place.lane.sort, "place_at": to_text(place.at), "place_due": place.due_key}
        if is_empty:
            sets["empty_since"] = to_text(now)
        due_key = cast("str", sets["due_key"])
        unchanged = (Equals("due_key", scope.due_key or ""),)
        if not self._try(Update(key=keys.scope(scope.name), conditions=unchanged, sets=sets)):
            return None
        return replace(scope, due_key=due_key, empty_since=now if is_empty else scope.empty_since)

    def put_off(self, looks: Sequence[tuple[str, str, datetime]], now: datetime, *, stamp: str, shards: int) -> None:
        """Put many looks off, each as it was seen; whom that is refused to, or whoever was touched since, stays due."""
        self._table.update_many(
            [
                Update(
                    key=keys.scope(name),
                    conditions=(Equals("due_key", seen),),
                    sets=due_at(name, at, now, stamp, shards),
                )
                for name, seen, at in looks
            ]
        )

    def park(self, scope: Scope) -> bool:
        """Take the scope out of the due index until somebody wakes it (a pause ends, a type is deployed)."""
        return self._try(
            Update(
                key=keys.scope(scope.name),
                conditions=(Equals("due_key", scope.due_key or ""),),
                removes=frozenset({"due_lane", "due_key"}),
            )
        )

    def forget(self, scope: Scope) -> bool:
        return self._try(Delete(key=keys.scope(scope.name), conditions=(Equals("due_key", scope.due_key or ""),)))

    def nudge(self, name: str, now: datetime, *, stamp: str, shards: int) -> None:
        """Have a scope looked at now, because a seat is free.

        Not if it is parked, or nobody waits: then a read is all that this costs.
        """
        seen = first = self.seen(name)
        sets = due_at(name, now, now, stamp, shards)
        for _ in range(_TRIES):
            # Whoever began to look since then reads the seats after this one was free.
            if not seen.is_looked_at or seen.look != first.look:
                return
            due_key = cast("str", seen.due_key)
            if Due.parse(due_key).at <= now and is_asked_for(due_key):
                return
            unchanged = (Equals("due_key", due_key),)
            if self._try(Update(key=keys.scope(name), conditions=unchanged, sets=sets)):
                return
            # A look that began before may just have put the next one off: it has not seen what is free now.
            seen = self.seen(name)

    def take(self, taking: Taking) -> bool:
        """Take a seat for something that is no job; False if another has it."""
        try:
            self._table.write(taking.change)
        except ConditionFailed as failed:
            # It may be ours, by a try whose response was lost.
            return failed.current is not None and failed.current.get("taken_by") == taking.seat.taken_by
        return True

    def free(self, scope: str, number: int, taken_by: str) -> bool:
        """Free a seat; False if another claim has it by now."""
        change = Update(
            key=keys.seat(scope, number),
            conditions=(Equals("taken_by", taken_by),),
            removes=frozenset({"taken_by", "job_id", "held_until"}),
        )
        try:
            self._table.write(change)
        except ConditionFailed as failed:
            # A seat that is free was freed by a try whose response was lost: who waits for it is still to be woken.
            return failed.current is None or "taken_by" not in failed.current
        return True

    def _try(self, change: Update | Delete) -> bool:
        try:
            self._table.write(change)
        except ConditionFailed as failed:
            # What stands there may be our own, by a try whose response was lost.
            current = failed.current or {}
            return isinstance(change, Update) and bool(change.sets) and change.sets.items() <= current.items()
        return True


def _read(name: str, records: Sequence[Record]) -> tuple[Scope, list[LineEntry]]:
    found: Record | None = None
    seats: dict[int, Seat] = {}
    turns: list[Turn] = []
    entries: list[LineEntry] = []
    for record in records:
        sort = cast("str", record["SK"])
        if sort == keys.SCOPE:
            found = record
        elif sort.startswith(_LANES):
            entries.append(_entry_of(name, record))
        else:
            if "lane" in record:
                turns.append(_turn_of(record))
            if "taken_by" in record:
                seats[int(sort)] = _seat_of(name, int(sort), record)
    newest_first = sorted(turns, key=lambda turn: (turn.at, turn.due_key), reverse=True)
    return _scope_of(name, found, seats, newest_first), entries


def _scope_of(
    name: str, record: Record | None, seats: Mapping[int, Seat] | None = None, turns: Sequence[Turn] = ()
) -> Scope:
    if record is None:
        return Scope(name=name, seats=seats or {}, turns=turns)
    empty_since = cast("str | None", record.get("empty_since"))
    return Scope(
        name=name,
        exists=True,
        due_key=cast("str | None", record.get("due_key")),
        looks=cast("int", record.get("looks", 0)),
        look=cast("str | None", record.get("look")),
        place=_place_of(record) if "place" in record else None,
        empty_since=None if empty_since is None else from_text(empty_since),
        seats=seats or {},
        turns=turns,
    )


def _seat_of(scope: str, number: int, record: Record) -> Seat:
    return Seat(
        scope=scope,
        number=number,
        taken_by=cast("str", record["taken_by"]),
        taken_at=from_text(cast("str", record["taken_at"])),
        held_until=from_text(cast("str", record["held_until"])),
        job_id=cast("JobId | None", record.get("job_id")),
        turn=_turn_of(record) if "lane" in record else None,
    )


def _turn_of(record: Record) -> Turn:
    lane, at = cast("str", record["lane"]), cast("str", record["taken_at"])
    return Turn(Lane.parse(lane), from_text(at), cast("str", record["job_due"]))


def _place_of(record: Record) -> Turn:
    lane, at = cast("str", record["place"]), cast("str", record["place_at"])
    return Turn(Lane.parse(lane), from_text(at), cast("str", record["place_due"]))


def _entry_of(scope: str, record: Record) -> LineEntry:
    empty_since = cast("str | None", record.get("empty_since"))
    return LineEntry(
        scope=scope,
        lane=Lane.parse(cast("str", record["SK"])),
        since=from_text(cast("str", record["since"])),
        stamp=cast("str", record["stamp"]),
        empty_since=None if empty_since is None else from_text(empty_since),
    )
