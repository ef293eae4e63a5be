"""The round of whoever looks after payloads: one poller at a time, and the next goes on where the last one was."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel.errors import StoreError
from leasehold.kernel.job import job_of
from leasehold.kernel.keys import from_text, key_of, make_nonce, to_text
from leasehold.kernel.offload import expiry_of
from leasehold.kernel.partitions import WATCH, of_jobs, payload, refusal
from leasehold.kernel.table import JOBS, AnyOf, ConditionFailed, Equals, Exists, Key, Missing, NotAfter, OneOf, Update
from leasehold.kernel.transitions import RUNNING, WAITING
from leasehold.kernel.type_options import DELIVERY
from leasehold.kernel.unreadable import read_each
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record, Table


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
            key=payload_round_key(),
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
        # One that is damaged, or of a version to come, must not keep those behind it from being looked after.
        return read_each(page.records, job_of).items, following

    def renew(self, job_id: JobId, name: str, expires_at: int) -> bool:
        """Let an item live longer; False if it is gone. It is billed like its first writing."""
        renewed = Update(key=payload(job_id, name), conditions=(Exists("PK"),), sets={"expires_at": expires_at})
        return refusal(self._table, renewed) is None

    def leave(self, place: Round, now: datetime) -> bool:
        """Note how far it has come, free for whoever goes on; False if somebody else does so by now."""
        below: Record = {} if place.below is None else {"below": place.below}
        sets = {"partition": place.partition, "until": to_text(now), **below}
        return self._mine(place.holder, sets, frozenset({"below"} - sets.keys()))

    def finish(self, holder: str, next_at: datetime) -> bool:
        return self._mine(holder, {"next_at": to_text(next_at)}, frozenset({"holder", "until", "partition", "below"}))

    def _mine(self, holder: str, sets: Record, removes: frozenset[str]) -> bool:
        mine = (Equals("holder", holder),)
        change = Update(key=payload_round_key(), conditions=mine, sets=sets, removes=removes)
        return refusal(self._table, change) is None


# Younger jobs are left to the next round: the slack of their payloads is many times as long.
EVERY = timedelta(days=7)
# Whoever dies on a round keeps others from it for no longer than this.
_LEASE = timedelta(minutes=2)
# A tick has other things to do: a long round is made in as many visits as it takes.
_A_VISIT = timedelta(seconds=5)
# No more than one query may read at once; most of it has ended, and is left out there.
_PAGE = 1000


@dataclass(slots=True)
class Kept:
    """What one visit has done. `missing` payloads are gone: their jobs will say so when they start."""

    looked_at: int = 0
    renewed: int = 0
    missing: int = 0
    is_done: bool = False


def keep_payloads(services: Services, *, worker_id: str, should_stop: Callable[[], str | None]) -> Kept | None:
    """Go on with the round for a while, if one is due; None if none is. A tick without one reads nothing."""
    now = services.clock.now()
    if services.next_payload_round is not None and now < services.next_payload_round:
        return None
    try:
        place = services.store.payload_rounds.take(make_nonce(services.random_source, worker_id), now, now + _LEASE)
        if not isinstance(place, Round):
            services.next_payload_round = place
            return None
        kept = _go_on(
            place, services, is_over=lambda: services.clock.now() >= now + _A_VISIT or should_stop() is not None
        )
    except StoreError as error:
        # The next tick tries again, and there is more than a year for it.
        services.telemetry.event(Event.TIDY_FAILED, what="payloads", error=str(error))
        return None
    services.next_payload_round = now + EVERY if kept.is_done else None
    services.telemetry.event(
        Event.PAYLOADS_KEPT, jobs=kept.looked_at, renewed=kept.renewed, missing=kept.missing, done=kept.is_done
    )
    return kept


def _go_on(place: Round, services: Services, *, is_over: Callable[[], bool]) -> Kept:
    """Work through pages. The place is noted at the end of a visit only: who dies before it leaves the visit undone."""
    kept = Kept()
    rounds = services.store.payload_rounds
    if not place.partition:
        place = replace(place, partition=min(partitions(services), default=""))
    while True:
        jobs, following = rounds.page(place, services.clock.now() - EVERY, limit=_PAGE)
        for job in jobs:
            _keep(job, services, kept)
            if is_over():
                rounds.leave(replace(place, below=key_of(job.job_id).sk), services.clock.now())
                return kept
        beyond = following or _next_partition(place, services)
        if beyond is None:
            kept.is_done = rounds.finish(place.holder, services.clock.now() + EVERY)
            return kept
        if is_over():
            rounds.leave(beyond, services.clock.now())
            return kept
        place = beyond


def _keep(job: Job, services: Services, kept: Kept) -> None:
    kept.looked_at += 1
    if job.payload_name is None:
        return
    expires_at = expiry_of(job, max(job.due_at or job.scheduled_for, services.clock.now()), services)
    if services.store.payload_rounds.renew(job.job_id, job.payload_name, expires_at):
        kept.renewed += 1
    else:
        kept.missing += 1


def _next_partition(place: Round, services: Services) -> Round | None:
    """In the order of their names, so that a type that is deployed meanwhile changes nothing."""
    following = min((each for each in partitions(services) if each > place.partition), default=None)
    return None if following is None else replace(place, partition=following, below=None)


def partitions(services: Services) -> list[str]:
    registry = services.deployment.registry()
    return [*of_jobs(registry), *of_jobs(registry, DELIVERY)]


def payload_round_key() -> Key:
    return Key(JOBS, (WATCH, "payloads"))
