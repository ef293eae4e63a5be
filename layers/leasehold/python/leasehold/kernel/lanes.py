"""Lanes: those that a poll visits, and where in them services and scopes wait. Hold lanes: limits/lanes.py."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING

from leasehold.kernel.keys import BASE, Priority, run_lane, to_digits
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.table import Record

_NUMBER_WIDTH = 4


@dataclass(slots=True)
class Lane:
    """A lane as one poll goes along it, page by page."""

    name: str
    shard: int
    cursor: Record | None = None
    is_exhausted: bool = False
    # Not read in this round: its shard is another poller's.
    is_passed_by: bool = False
    is_contended: bool = False
    read_at: datetime | None = None
    pages: int = 0
    # Pages that showed only jobs that there is no room for.
    in_vain: int = 0


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
    return position + to_digits(min(number, BASE**_NUMBER_WIDTH - 1), _NUMBER_WIDTH)
