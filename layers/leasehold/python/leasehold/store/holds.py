"""Access patterns of scopes: where jobs wait that may not run now, and the seats of a limit.

A scope is one record with one due entry of its own, however many jobs wait in its hold lane. A seat that has a record
is taken; a free seat has none. Scope and seats share a partition, the scope first: who reads the scope as untouched
and then the seats as full has not missed a seat that was freed in between, because freeing one touches the scope last.
"""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import Equals, Exists, Missing
from leasehold.domain.due import SERVICE_LANE, Due, position_at
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.limits import MAX_SEATS
from leasehold.store import keys
from leasehold.store.definition import JOBS
from leasehold.store.jobs import TransitionRefused, is_own_write, transition
from leasehold.store.records import job_of
from leasehold.store.table import ConditionFailed, Delete, Put, TransactionCancelled, Update
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.domain.conditions import Condition
    from leasehold.domain.ids import JobId
    from leasehold.domain.lifecycle import Write
    from leasehold.store.table import Record, Table

_PAGE = MAX_SEATS + 1
_TIDIED_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A place in a limit. Without a job it is free again once its time is over; with one, once that job is gone too."""

    scope: str
    number: int
    taken_by: str
    held_until: datetime
    job_id: JobId | None = None


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
            "held_until": to_text(seat.held_until),
            # Scopes of keys come and go: a seat that nobody takes over shall not stay for ever.
            "expires_at": int((seat.held_until + _TIDIED_AFTER).timestamp()),
        }
        if seat.job_id is not None:
            record["job_id"] = seat.job_id
        return Put(
            key=keys.seat(seat.scope, seat.number),
            record=record,
            conditions=None if self.seen is None else (Equals("taken_by", self.seen.taken_by),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    scope: str
    is_waiting: bool = False
    due_key: str | None = None
    empty_checks: int = 0
    # How often it was looked at: now and then the lowest priority has its turn.
    looks: int = 0
    seats: Mapping[int, Seat] = field(default_factory=dict)


class SeatsTaken(Exception):  # noqa: N818  an answer: try the next seats
    """Another claim has a seat in each of these scopes."""

    def __init__(self, scopes: frozenset[str]) -> None:
        super().__init__(f"seats were taken in {sorted(scopes)}")
        self.scopes = scopes


class ProbeTaken(Exception):  # noqa: N818  an answer: another job is the probe
    """Another claim sent its job into the open circuit, or the circuit is closed by now."""


class Holds:
    def __init__(self, table: Table) -> None:
        self._table = table

    def state(self, scope: str) -> ScopeState:
        """A scope and its taken seats, in one consistent read."""
        page = self._table.query(JOBS, keys.scope_partition(scope), limit=_PAGE)
        state = ScopeState(scope=scope)
        seats: dict[int, Seat] = {}
        for record in page.records:
            if record["SK"] == keys.SCOPE:
                state = ScopeState(
                    scope=scope,
                    is_waiting=True,
                    due_key=cast("str | None", record.get("due_key")),
                    empty_checks=cast("int", record["empty_checks"]),
                    looks=cast("int", record.get("looks", 0)),
                    seats=seats,
                )
            else:
                number = int(cast("str", record["SK"]))
                seats[number] = Seat(
                    scope=scope,
                    number=number,
                    job_id=cast("JobId | None", record.get("job_id")),
                    taken_by=cast("str", record["taken_by"]),
                    held_until=from_text(cast("str", record["held_until"])),
                )
        return state if state.is_waiting else ScopeState(scope=scope, seats=seats)

    def expect(self, state: ScopeState, at: datetime, now: datetime, *, stamp: str) -> bool:
        """Give the scope a due entry before a job is held in it; False if the scope changed since it was read."""
        unchanged: tuple[Condition, ...]
        if not state.is_waiting:
            unchanged = (Missing("PK"),)
        elif state.due_key is None:
            unchanged = (Exists("PK"), Missing("due_key"))
        else:
            unchanged = (Equals("due_key", state.due_key),)
        due = _due(state.scope, at, now, stamp)
        return self._try(Update(key=keys.scope(state.scope), conditions=unchanged, sets=due))

    def postpone(self, state: ScopeState, at: datetime, now: datetime, *, stamp: str, empty_checks: int = 0) -> bool:
        """It was looked at; look again at another time. False if somebody touched it since it was read."""
        assert state.due_key is not None
        return self._try(
            Update(
                key=keys.scope(state.scope),
                conditions=(Equals("due_key", state.due_key),),
                sets={**_due(state.scope, at, now, stamp, empty_checks), "looks": state.looks + 1},
            )
        )

    def park(self, scope: str, seen: str) -> bool:
        """Take the scope out of the due index until somebody wakes it (a pause ends, a type is deployed)."""
        return self._try(
            Update(
                key=keys.scope(scope),
                conditions=(Equals("due_key", seen),),
                removes=frozenset({"due_lane", "due_key"}),
            )
        )

    def forget(self, scope: str, seen: str) -> bool:
        return self._try(Delete(key=keys.scope(scope), conditions=(Equals("due_key", seen),)))

    def nudge(self, scope: str, now: datetime, *, stamp: str) -> bool:
        """Have the scope looked at now, because a seat is free; not if it is parked or nobody waits."""
        change = awakened(scope, now, stamp)
        return self._try(Update(key=change.key, conditions=(Exists("due_key"),), sets=change.sets))

    def claim(
        self, write: Write, takings: Sequence[Taking], *, token: str, noted_as_probe: Update | None = None
    ) -> None:
        """Claim a job together with a seat in each of its limits, and as the probe of its type, or nothing of it."""
        also = [] if noted_as_probe is None else [noted_as_probe]
        changes: list[Put | Update] = [transition(write), *(each.change for each in takings), *also]
        try:
            self._table.transact(changes, token=request_token(token))
        except TransactionCancelled as cancelled:
            current = cancelled.failed.get(0)
            if 0 in cancelled.failed and not is_own_write(write, current):
                raise TransitionRefused(write, job_of(current) if current else None) from None
            if 0 not in cancelled.failed:
                taken = [each.seat.scope for at, each in enumerate(takings, start=1) if at in cancelled.failed]
                if taken:
                    raise SeatsTaken(frozenset(taken)) from None
                raise ProbeTaken from None

    def take(self, taking: Taking) -> bool:
        """Take a seat for something that is no job; False if another has it."""
        try:
            self._table.write(taking.change)
        except ConditionFailed as failed:
            # It may be ours, by a try whose response was lost.
            return failed.current is not None and failed.current["taken_by"] == taking.seat.taken_by
        return True

    def free(self, scope: str, number: int, taken_by: str) -> bool:
        """Free a seat; False if another claim has it by now."""
        try:
            self._table.write(Delete(key=keys.seat(scope, number), conditions=(Equals("taken_by", taken_by),)))
        except ConditionFailed as failed:
            # A seat that is gone was freed by a try whose response was lost: who waits for it is still to be woken.
            return failed.current is None
        return True

    def _try(self, change: Update | Delete) -> bool:
        try:
            self._table.write(change)
        except ConditionFailed:
            return False
        return True


def awakened(scope: str, now: datetime, stamp: str) -> Update:
    """Make a scope due now, whatever it was: being looked at once too often harms nobody."""
    return Update(key=keys.scope(scope), conditions=(), sets=_due(scope, now, now, stamp))


def _due(scope: str, at: datetime, now: datetime, stamp: str, empty_checks: int = 0) -> dict[str, str | int | bool]:
    """`stamp` is the writer's own: two who touch a scope within one millisecond must not write the same key."""
    return {
        "due_lane": SERVICE_LANE,
        "due_key": Due(at, f"{position_at(now)}{stamp}", scope).key,
        "empty_checks": empty_checks,
        "wake": at <= now,
    }
