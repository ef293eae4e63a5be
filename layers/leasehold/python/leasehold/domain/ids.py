"""Job ids that carry their key: one GetItem finds any job by its id alone, and its partition names its type.

The id is a UUID of version 8 (RFC 9562), `tttttttt-tttt-8SSc-Vccc-rrrrrrrrrrrr`: 48 bits of `scheduled_for` in
milliseconds, 8 bits of shard, 16 bits of the type's code (the four `c`), 50 random bits. The code lies on whole digits,
so that a pattern of IAM can pick the ids of one type: see `id_pattern`.
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

SHARD_BITS = 8
MAX_SHARDS = 1 << SHARD_BITS
CODE_BITS = 16
RANDOM_BITS = 50
# Jobs of a deployment that does not isolate its types: all of them share the partition `job`.
NOT_ISOLATED = 0
# The system's own jobs, such as deliveries of webhooks: no partition of users' jobs has their prefix.
SYSTEM_CODE = (1 << CODE_BITS) - 1
SYSTEM_SHARD = 0

_VERSION = 8
_VARIANT = 0b10
_LATEST_MILLIS = to_millis(LATEST)
_RANDOM_TAIL_BITS = 48


class JobKey(NamedTuple):
    pk: str
    sk: str


class JobPartition(NamedTuple):
    """Where a job lives: the code of its type, and which of the shards of that type."""

    code: int
    shard: int = 0

    @property
    def name(self) -> str:
        """
        >>> JobPartition(0x3fa1, 5).name, JobPartition(NOT_ISOLATED).name, JobPartition(SYSTEM_CODE).name
        ('job#3fa1#5', 'job', 'system#0')
        """
        if self.code == SYSTEM_CODE:
            return f"system#{self.shard}"
        return "job" if self == (NOT_ISOLATED, 0) else f"job#{self.code:04x}#{self.shard}"


def type_code(name: str) -> int:
    """The code of a type that is given none by its settings: a hash of its name.

    >>> f"{type_code('backup'):04x}"
    'b727'
    """
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4]) % (SYSTEM_CODE - 1) + 1


def check_code(code: int, what: str) -> int:
    if not NOT_ISOLATED < code < SYSTEM_CODE:
        raise InvalidOptionError(
            code, f"{what}: a code is {NOT_ISOLATED + 1} to {SYSTEM_CODE - 1}", "Leave it out, or choose another."
        )
    return code


def id_pattern(code: int) -> str:
    """All ids with this code, as a pattern of IAM's StringLike.

    >>> id_pattern(0x3fa1)
    '????????-????-8??3-?fa1-????????????'
    """
    digits = f"{code:04x}"
    return f"????????-????-8??{digits[0]}-?{digits[1:]}-????????????"


def make_job_id(scheduled_for: datetime, partition: JobPartition, random_bits: int) -> JobId:
    code, shard = partition
    if not 0 <= shard < MAX_SHARDS:
        raise InvalidOptionError(shard, "there is no such shard", f"Choose a shard from 0 to {MAX_SHARDS - 1}.")
    first, tail = divmod(random_bits, 1 << _RANDOM_TAIL_BITS)
    high = to_millis(scheduled_for) << 16 | _VERSION << 12 | shard << 4 | code >> 12
    low = _VARIANT << 14 | first << 12 | code & 0xFFF
    return JobId(str(uuid.UUID(int=high << 64 | low << _RANDOM_TAIL_BITS | tail)))


def derive_job_id(scheduled_for: datetime, partition: JobPartition, *origin: str) -> JobId:
    """The same origin always gives the same id, so that making a follow-up job twice makes it once."""
    digest = hashlib.sha256("\x1f".join(origin).encode()).digest()
    return make_job_id(scheduled_for, partition, int.from_bytes(digest[:8]) >> (64 - RANDOM_BITS))


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


def partition_of(job_id: JobId) -> JobPartition:
    return JobPartition(int(job_id[17] + job_id[20:23], 16), int(job_id[15:17], 16))


def shard_of(job_id: JobId) -> int:
    return partition_of(job_id).shard


def code_of(job_id: JobId) -> int:
    return partition_of(job_id).code


def key_of(job_id: JobId) -> JobKey:
    """
    >>> from datetime import UTC, datetime
    >>> key_of(make_job_id(datetime(2026, 11, 15, 9, 30, tzinfo=UTC), JobPartition(0x3fa1), 7))
    JobKey(pk='job#3fa1#0', sk='scheduled#2026-11-15T09:30:00.000Z#01a1de8a-c9c0-8003-8fa1-000000000007')
    """
    return JobKey(partition_of(job_id).name, f"scheduled#{to_text(scheduled_for_of(job_id))}#{job_id}")


def job_id_of_key(sk: str) -> JobId:
    """The id that a sort key names; nothing says that its job lives there, see `job_id_at`."""
    return JobId(sk.rpartition("#")[2])


def job_id_at(pk: str, sk: str) -> JobId | None:
    """The job whose place this is; None if no job has this key. Who may write here may write no other job's key."""
    try:
        job_id = parse_job_id(job_id_of_key(sk))
    except InvalidJobIdError:
        return None
    return job_id if key_of(job_id) == (pk, sk) else None
