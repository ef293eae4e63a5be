"""Job ids that carry their key: one GetItem finds any job by its id alone, and its partition names its type.

The id is a UUID of version 8 (RFC 9562), `tttttttt-tttt-8SSc-Vccc-rrrrrrrrrrrr`: 48 bits of `scheduled_for` in
milliseconds, 8 bits of shard, 16 bits of the type's code (the four `c`), 50 random bits. The code lies on whole digits,
so that a pattern of IAM can pick the ids of one type: see `id_pattern`.
"""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, NamedTuple, NewType

from leasehold.kernel.due import LATEST, from_millis, to_millis, to_text
from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError
from leasehold.kernel.table import DEAD_LETTERS, JOBS, Key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.dedup import DedupRef
    from leasehold.kernel.table import Record, Table


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


CONTROL = "control"
HALT = "halt"
# It sorts between the halt and the pauses: one query reads all three, and leaves the larger registry unread.
NEXT_SLOT = "next-slot#"
PAUSE = "pause#"
REGISTRY = "registry"
RESUMED = "resumed"
SCHEMA = "schema#"
WATCH = "watch"
SCHEDULE = "schedule"
AUDIT_HEADS = "audit-head"
# What something can be done to: the first word of a target. Each has a partition that a role can be narrowed to.
AUDIT_KINDS = ("control", "dead-letter", "direct-run", "group", "job", "schedule", "template")
TEMPLATE = "template"
GROUP = "group"
CALLBACK = "callback"
CODES = "codes"
REQUEST = "request"
DIRECT_RUN = "direct-run"
PAYLOAD = "payload"
SYSTEM_PAYLOAD = "system-payload"
# A scope sorts before its seats, so that one query reads the scope's state first: see lines.py.
SCOPE = "-"


def job(job_id: JobId) -> Key:
    return Key(JOBS, tuple(key_of(job_id)))


def payload(job_id: JobId, name: str) -> Key:
    """A payload that does not fit into its job. Its partition is its job's own: none can become hot."""
    return Key(JOBS, (payload_partition(job_id), name))


def payload_partition(job_id: JobId) -> str:
    """The system's own jobs are apart from users' also here: see ids.py."""
    return f"{SYSTEM_PAYLOAD if code_of(job_id) == SYSTEM_CODE else PAYLOAD}#{job_id}"


def dedup(ref: DedupRef) -> Key:
    return Key(JOBS, (f"scheduled-job#{ref.job_type}#{ref.key}", ref.window))


def control(name: str) -> Key:
    return Key(JOBS, (CONTROL, name))


def pause(job_type: str) -> Key:
    return control(PAUSE + job_type)


def schema(job_type: str) -> Key:
    """What a type's handler said about its payloads."""
    return control(SCHEMA + job_type)


def circuit(job_type: str) -> Key:
    """Apart from the switches, and each type apart from the others: rights can be given by partition only."""
    return Key(JOBS, (f"circuit#{job_type}", "-"))


def reservation(job_type: str) -> Key:
    return control(NEXT_SLOT + job_type)


def shard_lock(shard: int) -> Key:
    return Key(JOBS, (WATCH, str(shard)))


def waiter_lease() -> Key:
    return Key(JOBS, (WATCH, "waiting"))


def payload_round() -> Key:
    return Key(JOBS, (WATCH, "payloads"))


def schedule(name: str) -> Key:
    return Key(JOBS, (SCHEDULE, name))


def template(name: str) -> Key:
    return Key(JOBS, (TEMPLATE, name))


def group(group_id: str) -> Key:
    return Key(JOBS, (group_partition(group_id), GROUP))


def group_callback(group_id: str) -> Key:
    """The job that a group's end makes is kept apart: the group itself is written at the end of each member."""
    return Key(JOBS, (group_partition(group_id), CALLBACK))


def group_codes(group_id: str) -> Key:
    """The codes of many members of several types, apart for the same reason."""
    return Key(JOBS, (group_partition(group_id), CODES))


def group_partition(group_id: str) -> str:
    return f"{GROUP}#{group_id}"


def group_of_partition(partition: str) -> str | None:
    """The group that lives there; None if none does."""
    return partition.partition("#")[2] if partition.startswith(f"{GROUP}#") else None


def audit(target: str, at: str, entry_id: str) -> Key:
    return Key(JOBS, (audit_partition(target), f"{at}#{entry_id}"))


def audit_record(partition: str, sort: str) -> Key:
    return Key(JOBS, (partition, sort))


def audit_partition(target: str) -> str:
    return f"audit#{target}"


def target_of_audit(partition: str) -> str:
    return partition.removeprefix("audit#")


def request(name: str) -> Key:
    """What became of a request that came with an idempotency key."""
    return Key(JOBS, (f"{REQUEST}#{name}", "-"))


def direct_request(run_id: str) -> Key:
    return Key(JOBS, (f"{DIRECT_RUN}#{run_id}", "-"))


def audit_head(target: str) -> Key:
    return Key(JOBS, (audit_heads(target.partition("#")[0]), target))


def audit_heads(kind: str) -> str:
    """The partition of the heads of one kind of targets."""
    if kind not in AUDIT_KINDS:
        raise InvalidOptionError(kind, "this is no kind of audit target", f"Use one of {', '.join(AUDIT_KINDS)}.")
    return f"{AUDIT_HEADS}#{kind}"


def scope_partition(scope: str) -> str:
    return f"seat#{scope}"


def scope_of_partition(partition: str) -> str:
    return partition.removeprefix("seat#")


def scope(name: str) -> Key:
    return Key(JOBS, (scope_partition(name), SCOPE))


def seat(scope_name: str, number: int) -> Key:
    return Key(JOBS, (scope_partition(scope_name), f"{number:06d}"))


def line_entry(scope_name: str, lane: str) -> Key:
    """A lane that waits for a seat of the scope; it sorts behind the seats."""
    return Key(JOBS, (scope_partition(scope_name), lane))


def dead_letter(job_id: JobId) -> Key:
    return Key(DEAD_LETTERS, (job_id,))


_PAGE = 100


def records_in(table: Table, partition: str) -> Iterator[Record]:
    """Every record of a partition, by its sort key."""
    cursor: Record | None = None
    while True:
        page = table.query(JOBS, partition, limit=_PAGE, after=cursor)
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return
