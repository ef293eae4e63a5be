"""Job ids, the keys that they carry, and due keys: all that sorts in the tables, with times as text.

The id is a UUID of version 8 (RFC 9562), `tttttttt-tttt-8SSc-Vccc-rrrrrrrrrrrr`: 48 bits of `scheduled_for` in
milliseconds, 8 bits of shard, 16 bits of the type's code (the four `c`), 50 random bits. So one GetItem finds any job
by its id alone, and its partition names its type. The code lies on whole digits: a pattern of IAM can pick the ids of
one type (kernel/partitions.py).
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, NewType

from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError
from leasehold.kernel.table import JOBS, Key

if TYPE_CHECKING:
    from leasehold.kernel.ports import RandomSource

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)

_MILLISECOND = timedelta(milliseconds=1)
# Without the offset, which is always that of UTC.
_WIDTH = len("2026-11-15T09:30:00.000")


def to_text(value: datetime) -> str:
    """
    >>> to_text(datetime(2026, 11, 15, 9, 30, tzinfo=UTC))
    '2026-11-15T09:30:00.000Z'
    """
    return f"{value.isoformat(timespec='milliseconds')[:_WIDTH]}Z"


from_text = datetime.fromisoformat


def to_millis(value: datetime) -> int:
    return (value - EPOCH) // _MILLISECOND


def from_millis(millis: int) -> datetime:
    return EPOCH + millis * _MILLISECOND


# --- ids

JobId = NewType("JobId", str)

MAX_SHARDS = 256
RANDOM_BITS = 50
# Jobs of a deployment that does not isolate its types: all of them share the partition `job`.
NOT_ISOLATED = 0
# The system's own jobs, such as deliveries of webhooks: no partition of users' jobs has their prefix.
SYSTEM_CODE = 0xFFFF
SYSTEM_SHARD = 0

_VERSION = 8
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


def make_job_id(scheduled_for: datetime, partition: JobPartition, random_bits: int) -> JobId:
    code, shard = partition
    if not 0 <= shard < MAX_SHARDS:
        raise InvalidOptionError(shard, "there is no such shard", f"Choose a shard from 0 to {MAX_SHARDS - 1}.")
    first, tail = divmod(random_bits, 1 << _RANDOM_TAIL_BITS)
    at, of_type = f"{to_millis(scheduled_for):012x}", f"{code:04x}"
    # The first of the random bits stand beside those of the variant, which makes this digit 8, 9, a or b.
    return JobId(f"{at[:8]}-{at[8:]}-{_VERSION}{shard:02x}{of_type[0]}-{8 | first:x}{of_type[1:]}-{tail:012x}")


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


def job(job_id: JobId) -> Key:
    return Key(JOBS, tuple(key_of(job_id)))


# --- due keys

# Marks an entry that is not to be claimed yet; no position begins with it.
_OWING = "!"


type PriorityName = Literal["low", "normal", "high", "critical"]


class Priority(IntEnum):
    """Higher runs first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


class Due(NamedTuple):
    """When an item next needs the poller, and its place among those due at the same moment.

    `position` is the creation time unless an operator moved the job, so that equal due times run in creation order.
    `attempt` is the one that a job waits for, or is in: who claims it knows nothing else of it, and the count itself
    would cost a write of the index at each start.
    """

    at: datetime
    position: str
    item_id: str
    attempt: int = 1

    @property
    def key(self) -> str:
        """
        >>> Due(from_text("2026-01-01T00:00:00.000Z"), "0mjrz3w00", "a1", attempt=2).key
        '2026-01-01T00:00:00.000Z#0mjrz3w00#a1#2'
        """
        retried = f"#{self.attempt}" if self.attempt != 1 else ""
        return f"{to_text(self.at)}#{self.position}#{self.item_id}{retried}"

    def owing_since(self, now: datetime) -> Due:
        """Where a job waits that owes something first: due at once, and this entry comes after it is done.

        >>> due = Due.parse("2026-11-18T09:00:00.000Z#0001#x#2")
        >>> due.owing_since(from_text("2026-11-18T08:00:00.000Z")).afterwards == due
        True
        """
        return Due(now, f"{_OWING}{to_text(self.at)}{_OWING}{self.position}", self.item_id, self.attempt)

    @property
    def afterwards(self) -> Due | None:
        """What comes once a job has done what it owes; None for an entry at which nothing is owed first."""
        if not self.position.startswith(_OWING):
            return None
        _, at, position = self.position.split(_OWING, 2)
        return Due(from_text(at), position, self.item_id, self.attempt)

    @classmethod
    def parse(cls, key: str) -> Due:
        at, position, item_id = key.split("#", 2)
        retried, _, attempt = item_id.rpartition("#")
        if not attempt.isdecimal():  # the names of scopes may hold a separator, and end in no number
            retried, attempt = item_id, "1"
        return cls(from_text(at), position, retried, int(attempt))


def position_at(created_at: datetime) -> str:
    """A creation time as fixed-width text that sorts like the time itself."""
    return to_digits(to_millis(created_at), CREATION_WIDTH)


def run_lane(priority: int, shard: int) -> str:
    """Lanes know no types: however many there are, a poll asks as often."""
    return f"{int(priority)}#{shard}"


def due_until(now: datetime) -> str:
    """The greatest due key that is due at `now`: `~` sorts after every position."""
    return f"{to_text(now)}#~"


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BASE = len(_DIGITS)

CREATION_WIDTH = 9


def to_digits(number: int, width: int) -> str:
    """
    >>> to_digits(37, 4)
    '0011'
    """
    text = ""
    for _ in range(width):
        number, digit = divmod(number, BASE)
        text = _DIGITS[digit] + text
    return text


def make_stamp(random_source: RandomSource) -> str:
    """Tells apart two writes that would otherwise be the same."""
    return f"{random_source.bits(32):08x}"


def make_nonce(random_source: RandomSource, worker_id: str) -> str:
    """Names one claim or one invocation, unlike any other; the worker's id is in it for people who read logs."""
    return f"{worker_id}.{random_source.bits(64):016x}"
