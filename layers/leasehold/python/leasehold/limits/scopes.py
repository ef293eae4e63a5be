"""A scope as it is stored: when it is looked at, its seats, and the lanes that wait for one. See limits/lines.py."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.keys import Priority, from_text, to_text
from leasehold.kernel.lanes import hold_lane
from leasehold.kernel.table import JOBS, Equals, Key, Missing, Put
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Record

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
            key=seat_key(seat.scope, seat.number),
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
            if "lane" in record:
                turns.append(_turn_of(record))
            if "taken_by" in record:
                seats[int(sort)] = _seat_of(name, int(sort), record)
    newest_first = sorted(turns, key=lambda turn: (turn.at, turn.due_key), reverse=True)
    return scope_of(name, found, seats, newest_first), entries


def scope_of(
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


def entry_of(scope: str, record: Record) -> LineEntry:
    empty_since = cast("str | None", record.get("empty_since"))
    return LineEntry(
        scope=scope,
        lane=Lane.parse(cast("str", record["SK"])),
        since=from_text(cast("str", record["since"])),
        stamp=cast("str", record["stamp"]),
        empty_since=None if empty_since is None else from_text(empty_since),
    )


def scope_key(name: str) -> Key:
    return Key(JOBS, (partitions.scope_partition(name), partitions.SCOPE))


def seat_key(scope_name: str, number: int) -> Key:
    return Key(JOBS, (partitions.scope_partition(scope_name), f"{number:06d}"))


def line_entry_key(scope_name: str, lane: str) -> Key:
    """A lane that waits for a seat of the scope; it sorts behind the seats."""
    return Key(JOBS, (partitions.scope_partition(scope_name), lane))
