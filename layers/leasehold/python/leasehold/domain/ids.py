"""Job ids that carry their key: one GetItem finds any job by its id alone.

The id is a UUID of version 8 (RFC 9562): 48 bits of `scheduled_for` in milliseconds, 12 bits of shard, 62 random bits.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, NamedTuple, NewType

from leasehold.domain.errors import InvalidJobIdError, InvalidOptionError
from leasehold.domain.instants import LATEST, from_millis, to_millis, to_text

if TYPE_CHECKING:
    from datetime import datetime

JobId = NewType("JobId", str)

SHARD_BITS = 12
MAX_SHARDS = 1 << SHARD_BITS
RANDOM_BITS = 62
# The system's own jobs have a partition to themselves, which roles can tell from that of users' jobs.
SYSTEM_SHARD = MAX_SHARDS - 1

_VERSION = 8
_VARIANT = 0b10
_LATEST_MILLIS = to_millis(LATEST)


class JobKey(NamedTuple):
    pk: str
    sk: str


def make_job_id(scheduled_for: datetime, shard: int, random_bits: int) -> JobId:
    if not 0 <= shard < MAX_SHARDS:
        raise InvalidOptionError(shard, "there is no such shard", f"Choose a shard from 0 to {MAX_SHARDS - 1}.")
    bits = to_millis(scheduled_for) << 80 | _VERSION << 76 | shard << 64 | _VARIANT << 62 | random_bits
    return JobId(str(uuid.UUID(int=bits)))


def derive_job_id(scheduled_for: datetime, shard: int, *origin: str) -> JobId:
    """The same origin always gives the same id, so that making a follow-up job twice makes it once."""
    digest = hashlib.sha256("\x1f".join(origin).encode()).digest()
    return make_job_id(scheduled_for, shard, int.from_bytes(digest[:8]) >> (64 - RANDOM_BITS))


def parse_job_id(text: object) -> JobId:
    """Accept only what `make_job_id` could have made, in its canonical spelling."""
    fix = "Pass the job_id that enqueue returned."
    if not isinstance(text, str):
        raise InvalidJobIdError(text, "a job id is a string", fix)
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        raise InvalidJobIdError(text, "this is not a job id", fix) from None
    if str(parsed) != text or parsed.version != _VERSION or parsed.int >> 80 > _LATEST_MILLIS:
        raise InvalidJobIdError(text, "this is not an id that Leasehold made", fix)
    return JobId(text)


def scheduled_for_of(job_id: JobId) -> datetime:
    return from_millis(int(job_id[:8] + job_id[9:13], 16))


def shard_of(job_id: JobId) -> int:
    return int(job_id[15:18], 16)


def key_of(job_id: JobId) -> JobKey:
    """
    >>> from datetime import UTC, datetime
    >>> key_of(make_job_id(datetime(2026, 11, 15, 9, 30, tzinfo=UTC), 0, 7)).sk
    'scheduled#2026-11-15T09:30:00.000Z#01a1de8a-c9c0-8000-8000-000000000007'
    """
    return JobKey(partition_of(shard_of(job_id)), f"scheduled#{to_text(scheduled_for_of(job_id))}#{job_id}")


def partition_of(shard: int) -> str:
    return "job" if shard == 0 else f"job#{shard}"


def job_id_of_key(sk: str) -> JobId:
    return JobId(sk.rpartition("#")[2])
