"""The round of whoever looks after payloads: one poller at a time, and the next goes on where the last one was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import AnyOf, Equals, Missing, NotAfter, OneOf
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import RUNNING, WAITING
from leasehold.store import keys
from leasehold.store.definition import JOBS
from leasehold.store.records import job_of
from leasehold.store.table import ConditionFailed, Update

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.job import Job
    from leasehold.store.table import Record, Table

_LIVE = OneOf("status", tuple(sorted(WAITING | RUNNING)))


@dataclass(frozen=True, slots=True)
class Round:
    """How far a round has come: `partition` and `below` are the place of the last job that was looked at."""

    holder: str
    partition: str
    below: str | None = None


class PayloadRounds:
    def __init__(self, table: Table) -> None:
        self._table = table

    def take(self, holder: str, now: datetime, until: datetime) -> Round | datetime:
        """Begin the round that is due, or go on with one that broke off; else, when to ask again."""
        is_due = AnyOf((Missing("next_at"), NotAfter("next_at", to_text(now))))
        is_free = AnyOf((Missing("holder"), Equals("holder", holder), NotAfter("until", to_text(now))))
        taken = Update(
            key=keys.payload_round(),
            conditions=(is_due, is_free),
            sets={"holder": holder, "until": to_text(until)},
        )
        try:
            record = self._table.write(taken)
        except ConditionFailed as failed:
            current = failed.current or {}
            busy_or_done = max(cast("str", current.get(name, "")) for name in ("until", "next_at"))
            return from_text(busy_or_done) if busy_or_done else until
        return Round(holder, cast("str", record.get("partition", "")), cast("str | None", record.get("below")))

    def page(self, place: Round, last: datetime, *, limit: int) -> tuple[list[Job], Round | None]:
        """Live jobs of one partition that were meant to run by then, from a place on; and where the next page begins.

        In the table's own order. What has ended is left out by the engine, so that only its bytes are read.
        """
        page = self._table.query(
            JOBS,
            place.partition,
            last=f"scheduled#{to_text(last)}",
            limit=limit,
            after=None if place.below is None else {"PK": place.partition, "SK": place.below},
            where=(_LIVE,),
            consistent=False,
        )
        following = None if page.cursor is None else replace(place, below=cast("str", page.cursor["SK"]))
        return [job for record in page.records if (job := _readable(record)) is not None], following

    def leave(self, place: Round, now: datetime) -> bool:
        """Note how far it has come, free for whoever goes on; False if somebody else does so by now."""
        sets: Record = {"partition": place.partition, "until": to_text(now)}
        if place.below is not None:
            sets["below"] = place.below
        removes = frozenset({"below"}) if place.below is None else frozenset[str]()
        return self._mine(place.holder, sets, removes)

    def finish(self, holder: str, next_at: datetime) -> bool:
        return self._mine(holder, {"next_at": to_text(next_at)}, frozenset({"holder", "until", "partition", "below"}))

    def _mine(self, holder: str, sets: Record, removes: frozenset[str]) -> bool:
        mine = Update(key=keys.payload_round(), conditions=(Equals("holder", holder),), sets=sets, removes=removes)
        try:
            self._table.write(mine)
        except ConditionFailed:
            return False
        return True


def _readable(record: Record) -> Job | None:
    """A job that is damaged, or of a version to come, must not keep those behind it from being looked after."""
    try:
        return job_of(record)
    except (KeyError, TypeError, ValueError):
        return None
