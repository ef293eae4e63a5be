"""Measure: how much waits, per type. Run once a minute beside the polls, so that no poll pays for a backlog twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.circuit_breaker.circuits import circuit_of_type
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.partitions import pages
from leasehold.kernel.trust import agrees
from leasehold.lean import dataclass
from leasehold.limits.waiting import lanes_waiting_for, waiting_scopes
from leasehold.telemetry import (
    CIRCUIT_OPEN,
    DEAD_LETTER_DEPTH,
    DEAD_LETTER_OLDEST_AGE,
    OLDEST_DUE_AGE,
    QUEUE_DEPTH,
    Event,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.kernel.jobs import DuePage
    from leasehold.kernel.services import Services

# Beyond this a lane is "very many": exact figures would cost more than they tell.
COUNT_LIMIT = 10_000
_PAGE = 1000
A_LOOK = timedelta(milliseconds=500)


@dataclass(slots=True)
class Backlog:
    """Due and unclaimed jobs per type, held ones included; future and running jobs are not even read."""

    depth: Counter[str] = field(default_factory=Counter)
    oldest: dict[str, datetime] = field(default_factory=dict)
    dead_letters: int = 0
    oldest_dead_letter: datetime | None = None
    # There was more than could be looked at: the figures are of a part of it.
    is_sampled: bool = False


def measure(services: Services) -> Backlog:
    backlog = backlog_of(services)
    now = services.clock.now()
    for job_type in sorted({*services.deployment.registry().types, *backlog.depth}):
        services.telemetry.measure(QUEUE_DEPTH, backlog.depth[job_type], job_type=job_type)
        age = (now - backlog.oldest[job_type]).total_seconds() if job_type in backlog.oldest else 0.0
        services.telemetry.measure(OLDEST_DUE_AGE, max(age, 0.0), job_type=job_type)
    if backlog.is_sampled:
        services.telemetry.event(
            Event.BACKLOG_SAMPLED, jobs=sum(backlog.depth.values()), seconds=A_LOOK.total_seconds()
        )
    _measure_circuits(services)
    _measure_dead_letters(backlog.dead_letters, backlog.oldest_dead_letter, services)
    return backlog


def measure_dead_letters(services: Services) -> None:
    """The figures of the dead letters alone, for whoever has just learned of one."""
    depth = services.store.dead_letters.depth(limit=COUNT_LIMIT)
    _measure_dead_letters(depth, services.store.dead_letters.oldest_at() if depth else None, services)


def backlog_of(services: Services) -> Backlog:
    """Count what waits, for a moment: a tick has other things to do."""
    backlog, stop_at = Backlog(), services.clock.now() + A_LOOK
    for read in _lanes(services):
        if services.clock.now() >= stop_at:
            backlog.is_sampled = True
            break
        backlog.is_sampled |= _count(read, backlog, stop_at, services)
    backlog.dead_letters = services.store.dead_letters.depth(limit=COUNT_LIMIT)
    backlog.oldest_dead_letter = services.store.dead_letters.oldest_at() if backlog.dead_letters else None
    return backlog


def _lanes(services: Services) -> Iterator[Callable[..., DuePage]]:
    """How a page of each lane is read: of those where jobs may run, and of those where they are held."""
    now, store = services.clock.now(), services.store
    for level in lanes_by_priority(services.deployment.registry().shards):
        yield from (partial(store.jobs.due, lane, now, limit=_PAGE) for lane in level)
    for scope in waiting_scopes(services, limit=_PAGE):
        for lane in lanes_waiting_for(scope, services, limit=_PAGE):
            yield partial(store.listings.held, lane.queue, lane.priority, limit=_PAGE)


def _measure_circuits(services: Services) -> None:
    """Again each minute: an alarm that heard of an open circuit only once would end while it is still open."""
    for name, job_type in services.deployment.registry().types.items():
        if job_type.breaker is not None:
            is_open = circuit_of_type(name, services) is not None
            services.telemetry.measure(CIRCUIT_OPEN, int(is_open), job_type=name)


def _measure_dead_letters(depth: int, oldest: datetime | None, services: Services) -> None:
    services.telemetry.measure(DEAD_LETTER_DEPTH, depth)
    age = (services.clock.now() - oldest).total_seconds() if oldest else 0.0
    services.telemetry.measure(DEAD_LETTER_OLDEST_AGE, max(age, 0.0))


def _count(read: Callable[..., DuePage], backlog: Backlog, stop_at: datetime, services: Services) -> bool:
    """Count what waits in a lane; True if there was more of it."""
    seen = 0
    for page in pages(read):
        for entry in page.entries:
            if isinstance(entry, DueJob) and _is_counted(entry, services):
                backlog.depth[entry.job_type] += 1
                backlog.oldest[entry.job_type] = min(entry.due.at, backlog.oldest.get(entry.job_type, entry.due.at))
        seen += len(page.entries)
        if page.cursor is not None and (seen >= COUNT_LIMIT or services.clock.now() >= stop_at):
            return True
    return False


def _is_counted(entry: DueJob, services: Services) -> bool:
    """What calls itself a job of a type that it cannot be of must not be that type's backlog; the polls report it."""
    return entry.status.is_waiting and agrees(entry.job_id, entry.job_type, services)
