"""Where everything but jobs lives in the tables. IAM gives rights by partition: each kind of record has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import SYSTEM_CODE, Due, code_of, position_at
from leasehold.kernel.lanes import service_lane
from leasehold.kernel.table import DEAD_LETTERS, JOBS, Key, Update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.job import DedupRef
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Attribute, Record, Table


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
# A scope sorts before its seats, so that one query reads the scope's state first: see limits/lines.py.
SCOPE = "-"


def payload(job_id: JobId, name: str) -> Key:
    """A payload that does not fit into its job. Its partition is its job's own: none can become hot."""
    return Key(JOBS, (payload_partition(job_id), name))


def payload_partition(job_id: JobId) -> str:
    """The system's own jobs are apart from users' also here: see keys.py."""
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


def awakened(scope: str, now: datetime, stamp: str, shards: int) -> Update:
    """Make a scope due now, whatever it was: being looked at once too often harms nobody."""
    return Update(
        key=Key(JOBS, (scope_partition(scope), SCOPE)), conditions=(), sets=due_at(scope, now, now, stamp, shards)
    )


def due_at(scope: str, at: datetime, now: datetime, stamp: str, shards: int) -> dict[str, Attribute]:
    """`stamp` is the writer's own: two who touch a scope within one millisecond must not write the same key."""
    return {
        "due_lane": service_lane(scope, shards),
        "due_key": Due(at, mark_of(now, stamp), scope).key,
        "wake": at <= now,
    }


def mark_of(now: datetime, stamp: str) -> str:
    return f"{position_at(now)}{stamp}"


def id_pattern(code: int) -> str:
    """All ids with this code, as a pattern of IAM's StringLike.

    >>> id_pattern(0x3fa1)
    '????????-????-8??3-?fa1-????????????'
    """
    digits = f"{code:04x}"
    return f"????????-????-8??{digits[0]}-?{digits[1:]}-????????????"
