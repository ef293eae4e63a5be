"""Lanes: those that a poll visits, and where in them services and scopes wait. Hold lanes: limits/lanes.py."""

from __future__ import annotations

import zlib
from functools import cache

from leasehold.kernel.keys import BASE, Priority, run_lane, to_digits

_NUMBER_WIDTH = 4
_HIGHEST_NUMBER = BASE**_NUMBER_WIDTH - 1


@cache
def lanes_by_priority(shards: int) -> list[list[str]]:
    """The lanes that a poll visits, those of the highest priority first."""
    return [[run_lane(priority, shard) for shard in range(shards)] for priority in sorted(Priority, reverse=True)]


@cache
def all_lanes(shards: int) -> list[str]:
    return [lane for level in lanes_by_priority(shards) for lane in level]


def is_hold_lane(lane: str) -> bool:
    """Whether polls do not look there: a job that may not run now is in nobody's way."""
    return lane.startswith("hold#")


# Schedules and groups wait where polls look first, on the shard that every deployment has.
SERVICE_LANE = run_lane(Priority.CRITICAL, 0)
# No more, since whoever counts or lists what waits reads all of them.
_SERVICE_LANES = 4


def service_lane(name: str, shards: int) -> str:
    """Where a scope waits to be looked at: scopes are spread, since one lane bears some 500 ends a second."""
    return run_lane(Priority.CRITICAL, zlib.crc32(name.encode()) % min(shards, _SERVICE_LANES))


def service_lanes(shards: int) -> list[str]:
    return [run_lane(Priority.CRITICAL, shard) for shard in range(min(shards, _SERVICE_LANES))]


def numbered(position: str, number: int) -> str:
    """The place of the n-th of many that were made together; in one call they often share a millisecond.

    >>> numbered("0mjrz3w00", 1), numbered("0mjrz3w00", 36)
    ('0mjrz3w000001', '0mjrz3w000010')
    """
    return position + to_digits(min(number, _HIGHEST_NUMBER), _NUMBER_WIDTH)
