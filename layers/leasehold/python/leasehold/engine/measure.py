"""Measure: how much waits, per type. Run once a minute beside the polls, so that no poll pays for a backlog twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain.due import SERVICE_LANE, Priority, lanes_by_priority
from leasehold.domain.lean import dataclass
from leasehold.domain.limits import type_scope
from leasehold.engine.hold import LOOK_AGAIN_AFTER
from leasehold.engine.telemetry import (
    CIRCUIT_OPEN,
    DEAD_LETTER_DEPTH,
    DEAD_LETTER_OLDEST_AGE,
    OLDEST_DUE_AGE,
    QUEUE_DEPTH,
)
from leasehold.store.jobs import DueJob, DueScope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DuePage
    from leasehold.store.table import Record

# Beyond this a lane is "very many": exact figures would cost more than they tell.
COUNT_LIMIT = 10_000
_PAGE = 1000


@dataclass(slots=True)
class Backlog:
    """Due and unclaimed jobs per type, held ones included; future and running jobs are not even read."""

    depth: Counter[str] = field(default_factory=Counter)
    oldest: dict[str, datetime] = field(default_factory=dict)
    dead_letters: int = 0
    oldest_dead_letter: datetime | None = None


def measure(parts: Parts) -> Backlog:
    backlog = backlog_of(parts)
    now = parts.clock.now()
    for job_type in sorted({*parts.deployment.registry().types, *backlog.depth}):
        parts.telemetry.measure(QUEUE_DEPTH, backlog.depth[job_type], job_type=job_type)
        age = (now - backlog.oldest[job_type]).total_seconds() if job_type in backlog.oldest else 0.0
        parts.telemetry.measure(OLDEST_DUE_AGE, max(age, 0.0), job_type=job_type)
    _measure_circuits(parts)
    _measure_dead_letters(backlog.dead_letters, backlog.oldest_dead_letter, parts)
    return backlog


def measure_dead_letters(parts: Parts) -> None:
    """The figures of the dead letters alone, for whoever has just learned of one."""
    depth = parts.store.letters.depth(limit=COUNT_LIMIT)
    _measure_dead_letters(depth, parts.store.letters.oldest_at() if depth else None, parts)


def backlog_of(parts: Parts) -> Backlog:
    registry = parts.deployment.registry()
    backlog = Backlog()
    for lane in (lane for level in lanes_by_priority(registry.shards) for lane in level):
        for entry in _waiting(_due_pages(lane, parts, parts.clock.now()), parts):
            _count(entry, backlog)
    for scope in _waiting_scopes(parts):
        for entry in _waiting(_held_pages(scope, parts), parts):
            _count(entry, backlog)
    backlog.dead_letters = parts.store.letters.depth(limit=COUNT_LIMIT)
    backlog.oldest_dead_letter = parts.store.letters.oldest_at() if backlog.dead_letters else None
    return backlog


def _measure_circuits(parts: Parts) -> None:
    """Again each minute: an alarm that heard of an open circuit only once would end while it is still open."""
    for name, job_type in parts.deployment.registry().types.items():
        if job_type.breaker is not None:
            is_open = parts.deployment.circuit(name) is not None
            parts.telemetry.measure(CIRCUIT_OPEN, int(is_open), job_type=name)


def _measure_dead_letters(depth: int, oldest: datetime | None, parts: Parts) -> None:
    parts.telemetry.measure(DEAD_LETTER_DEPTH, depth)
    age = (parts.clock.now() - oldest).total_seconds() if oldest else 0.0
    parts.telemetry.measure(DEAD_LETTER_OLDEST_AGE, max(age, 0.0))


def _count(entry: DueJob, backlog: Backlog) -> None:
    backlog.depth[entry.job_type] += 1
    backlog.oldest[entry.job_type] = min(entry.due.at, backlog.oldest.get(entry.job_type, entry.due.at))


def _waiting(pages: Iterator[DuePage], parts: Parts) -> Iterator[DueJob]:
    read = 0
    for page in pages:
        yield from (each for each in page.entries if isinstance(each, DueJob) and _is_counted(each, parts))
        read += len(page.entries)
        if read >= COUNT_LIMIT:
            return


def _is_counted(entry: DueJob, parts: Parts) -> bool:
    """What calls itself a job of a type that it cannot be of must not be that type's backlog; the polls report it."""
    return entry.status.is_waiting and parts.deployment.agrees(entry.job_id, entry.job_type)


def _due_pages(lane: str, parts: Parts, until: datetime) -> Iterator[DuePage]:
    cursor: Record | None = None
    while True:
        page = parts.store.jobs.due(lane, until, limit=_PAGE, after=cursor)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def _waiting_scopes(parts: Parts) -> set[str]:
    """Where jobs are held: a scope with waiting jobs is looked at each minute, unless its type is paused."""
    soon = parts.clock.now() + LOOK_AGAIN_AFTER
    scopes = {type_scope(job_type) for job_type in parts.deployment.switches().pauses}
    for page in _due_pages(SERVICE_LANE, parts, soon):
        scopes |= {entry.scope for entry in page.entries if isinstance(entry, DueScope)}
    return scopes


def _held_pages(scope: str, parts: Parts) -> Iterator[DuePage]:
    for priority in Priority:
        cursor: Record | None = None
        while True:
            page = parts.store.jobs.held(scope, priority, limit=_PAGE, after=cursor)
            yield page
            cursor = page.cursor
            if cursor is None:
                break
