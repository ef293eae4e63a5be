"""Keep payloads: once a week, let those live on that stand apart and whose jobs are still not over.

A payload is given its time to live when it is written, by the time of its job. Most jobs are over long before that. One
that is held for months, waits for its turn in a group, was moved to next year, or is stopped by a halt, is found here.
So nobody else needs to think of payloads when a job's time is moved.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import StoreError
from leasehold.domain.lean import dataclass
from leasehold.domain.webhook import DELIVERY
from leasehold.engine.lay_out import expiry_of
from leasehold.engine.ports import make_nonce
from leasehold.engine.telemetry import Event
from leasehold.store.payload_rounds import Round

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

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


def keep_payloads(parts: Parts, *, worker_id: str, should_stop: Callable[[], str | None]) -> Kept | None:
    """Go on with the round for a while, if one is due; None if none is. A tick without one reads nothing."""
    now = parts.clock.now()
    if parts.next_payload_round is not None and now < parts.next_payload_round:
        return None
    try:
        place = parts.store.payload_rounds.take(make_nonce(parts.chance, worker_id), now, now + _LEASE)
        if not isinstance(place, Round):
            parts.next_payload_round = place
            return None
        kept = _go_on(place, parts, is_over=lambda: parts.clock.now() >= now + _A_VISIT or should_stop() is not None)
    except StoreError as error:
        # The next tick tries again, and there is more than a year for it.
        parts.telemetry.event(Event.TIDY_FAILED, what="payloads", error=str(error))
        return None
    parts.next_payload_round = now + EVERY if kept.is_done else None
    parts.telemetry.event(
        Event.PAYLOADS_KEPT, jobs=kept.looked_at, renewed=kept.renewed, missing=kept.missing, done=kept.is_done
    )
    return kept


def _go_on(place: Round, parts: Parts, *, is_over: Callable[[], bool]) -> Kept:
    """Work through pages. The place is noted at the end of a visit only: who dies before it leaves the visit undone."""
    kept = Kept()
    rounds = parts.store.payload_rounds
    if not place.partition:
        place = replace(place, partition=min(partitions(parts), default=""))
    while True:
        jobs, following = rounds.page(place, parts.clock.now() - EVERY, limit=_PAGE)
        for job in jobs:
            _keep(job, parts, kept)
            if is_over():
                rounds.leave(replace(place, below=job.key.sk), parts.clock.now())
                return kept
        beyond = following or _next_partition(place, parts)
        if beyond is None:
            kept.is_done = rounds.finish(place.holder, parts.clock.now() + EVERY)
            return kept
        if is_over():
            rounds.leave(beyond, parts.clock.now())
            return kept
        place = beyond


def _keep(job: Job, parts: Parts, kept: Kept) -> None:
    kept.looked_at += 1
    if job.payload_name is None:
        return
    expires_at = expiry_of(job, max(job.due_at or job.scheduled_for, parts.clock.now()), parts)
    if parts.store.payloads.renew(job.job_id, job.payload_name, expires_at):
        kept.renewed += 1
    else:
        kept.missing += 1


def _next_partition(place: Round, parts: Parts) -> Round | None:
    """In the order of their names, so that a type that is deployed meanwhile changes nothing."""
    following = min((each for each in partitions(parts) if each > place.partition), default=None)
    return None if following is None else replace(place, partition=following, below=None)


def partitions(parts: Parts) -> list[str]:
    registry = parts.deployment.registry()
    return [*registry.partitions(), *registry.partitions(DELIVERY)]
