"""A scope as it is stored: when it is looked at, its seats, and the lanes that wait for one. See limits/lines.py."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.keys import Due, Priority, from_text, position_at
from leasehold.kernel.lanes import service_lane
from leasehold.kernel.records import Codec, texts_in
from leasehold.kernel.table import JOBS, Equals, Key, Missing, Put, Update
from leasehold.lean import dataclass
from leasehold.limits.lanes import hold_lane

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Attribute, Record

LANES = "lane#"
_TIDIED_AFTER = timedelta(days=1)


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


# What a record of several values holds, each under its own name; the others stand in its key, or beside them.
_SCOPE = Codec(Scope, {}, without={"name", "exists", "seats", "place", "turns"})
_SEAT = Codec(Seat, {}, without={"scope", "number", "turn"})
_ENTRY = Codec(LineEntry, {}, without={"scope", "lane"})


def scope_and_line(name: str, records: Sequence[Record]) -> tuple[Scope, list[LineEntry]]:
    found: Record | None = None
    seats: dict[int, Seat] = {}
    turns: list[Turn] = []
    entries: list[LineEntry] = []
    for record in records:
        sort = cast("str", record["SK"])
        if sort == partitions.SCOPE:
            found = record
        elif sort.startswith(LANES):
            entries.append(entry_of(name, record))
        else:
            turn = _turn_of(record, "lane", "taken_at", "job_due")
            if turn is not None:
                turns.append(turn)
            if "taken_by" in record:
                seats[int(sort)] = Seat(scope=name, number=int(sort), turn=turn, **_SEAT.values(record))
    newest_first = sorted(turns, key=lambda turn: (turn.at, turn.due_key), reverse=True)
    return scope_of(name, found, seats, newest_first), entries


def scope_of(
    name: str, record: Record | None, seats: Mapping[int, Seat] | None = None, turns: Sequence[Turn] = ()
) -> Scope:
    found = record or {}
    place = _turn_of(found, "place", "place_at", "place_due")
    values = _SCOPE.values(found)
    return Scope(name=name, exists=record is not None, place=place, seats=seats or {}, turns=turns, **values)


def _turn_of(record: Record, *names: str) -> Turn | None:
    """A lane that had a turn, when, and for which job, under these names; None where there is none."""
    if names[0] not in record:
        return None
    lane, at, due_key = texts_in(record, names)
    return Turn(Lane.parse(lane), from_text(at), due_key)


def entry_of(scope: str, record: Record) -> LineEntry:
    return LineEntry(scope=scope, lane=Lane.parse(cast("str", record["SK"])), **_ENTRY.values(record))


def taking(seat: Seat, seen: Seat | None = None) -> Put:
    """Take a free seat, or one whose holder was `seen` to be gone."""
    record: Record = {
        **_SEAT.record(seat),
        # Scopes of keys come and go: a seat that nobody takes over shall not stay for ever.
        "expires_at": int((seat.held_until + _TIDIED_AFTER).timestamp()),
    }
    if seat.turn is not None:
        record |= {"lane": seat.turn.lane.sort, "job_due": seat.turn.due_key}
    free = Missing("taken_by") if seen is None else Equals("taken_by", seen.taken_by)
    return Put(key=seat_key(seat.scope, seat.number), record=record, conditions=(free,))


def scope_key(name: str, sort: str = partitions.SCOPE) -> Key:
    """Of the scope itself, or of what else lives there: its seats, and behind them the lanes that wait for one."""
    return Key(JOBS, (partitions.scope_partition(name), sort))


def awakened(scope: str, now: datetime, stamp: str, shards: int) -> Update:
    """Make a scope due now, whatever it was: being looked at once too often harms nobody."""
    return Update(key=scope_key(scope), conditions=(), sets=due_at(scope, now, now, stamp, shards))


def due_at(scope: str, at: datetime, now: datetime, stamp: str, shards: int) -> dict[str, Attribute]:
    """`stamp` is the writer's own: two who touch a scope within one millisecond must not write the same key."""
    return {
        "due_lane": service_lane(scope, shards),
        "due_key": Due(at, mark_of(now, stamp), scope).key,
        "wake": at <= now,
    }


def mark_of(now: datetime, stamp: str) -> str:
    return f"{position_at(now)}{stamp}"


def seat_key(scope_name: str, number: int) -> Key:
    return scope_key(scope_name, f"{number:06d}")
