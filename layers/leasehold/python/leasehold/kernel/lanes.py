"""Lanes besides the one that a plain job waits in, and places in them: where held jobs, scopes and services wait."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from functools import cache

from leasehold.kernel.keys import BASE, CREATION_WIDTH, Due, Priority, from_millis, run_lane, to_digits

_NUMBER_WIDTH = 4
_HIGHEST_NUMBER = BASE**_NUMBER_WIDTH - 1


def queue_of(job_type: str, concurrency_key: str | None) -> str:
    """Which jobs wait together: those of one type, and of one key where the type's limits ask for it."""
    return job_type if concurrency_key is None else f"{job_type}#{concurrency_key}"


def type_of_queue(queue: str) -> str:
    return queue.partition("#")[0]


def hold_lane(queue: str, priority: int) -> str:
    """Where jobs of a queue wait that may not run now; by priority, so that a limit does not undo it.

    >>> hold_lane(queue_of("user_sync", "acme"), Priority.HIGH)
    'hold#2#user_sync#acme'
    """
    return f"hold#{int(priority)}#{queue}"


def queue_of_lane(lane: str) -> str | None:
    """The queue of a hold lane; None for any other lane."""
    return lane.split("#", 2)[2] if is_hold_lane(lane) else None


def is_hold_lane(lane: str) -> bool:
    return lane.startswith("hold#")


@cache
def lanes_by_priority(shards: int) -> list[list[str]]:
    """The lanes that a poll visits, those of the highest priority first."""
    return [[run_lane(priority, shard) for shard in range(shards)] for priority in sorted(Priority, reverse=True)]


@cache
def all_lanes(shards: int) -> list[str]:
    return [lane for level in lanes_by_priority(shards) for lane in level]


# Schedules and groups wait where polls look first, on the shard that every deployment has.
SERVICE_LANE = run_lane(Priority.CRITICAL, 0)


# No more, since whoever counts or lists what waits reads all of them.
_SERVICE_LANES = 4


def service_lane(name: str, shards: int) -> str:
    """Where a scope waits to be looked at: scopes are spread, since one lane bears some 500 ends a second."""
    return run_lane(Priority.CRITICAL, zlib.crc32(name.encode()) % min(shards, _SERVICE_LANES))


def service_lanes(shards: int) -> list[str]:
    return [run_lane(Priority.CRITICAL, shard) for shard in range(min(shards, _SERVICE_LANES))]


def creation_of(position: str) -> datetime:
    """When what has this position was created, or written.

    >>> creation_of("0mjrz3w00").isoformat()
    '2025-12-30T02:33:49.248000+00:00'
    """
    return from_millis(_cut(position, CREATION_WIDTH))


def numbered(position: str, number: int) -> str:
    """The place of the n-th of many that were made together; in one call they often share a millisecond.

    >>> numbered("0mjrz3w00", 1), numbered("0mjrz3w00", 36)
    ('0mjrz3w000001', '0mjrz3w000010')
    """
    return position + to_digits(min(number, _HIGHEST_NUMBER), _NUMBER_WIDTH)


def _cut(position: str, width: int) -> int:
    """The first digits as a number."""
    return int(position[:width].ljust(width, "0"), BASE)


def is_asked_for(due_key: str) -> bool:
    """Whether somebody made a scope due, and not time alone."""
    due = Due.parse(due_key)
    return due.at - creation_of(due.position) < timedelta(seconds=1)
