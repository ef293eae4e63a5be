"""Where jobs and a plain job's other records live in the tables.

IAM gives rights by partition: each kind of record has its own. Those of features are with their features.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.keys import SYSTEM_CODE, JobPartition, partition_of
from leasehold.kernel.table import DEAD_LETTERS, JOBS, ConditionFailed, Key
from leasehold.kernel.type_options import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.kernel.job import DedupRef
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.table import Change, Record, Table


CONTROL = "control"
HALT = "halt"
# It sorts between the halt and the pauses: one query reads all three, and leaves the larger registry unread.
NEXT_SLOT = "next-slot#"
PAUSE = "pause#"
REGISTRY = "registry"
WATCH = "watch"
REQUEST = "request"
PAYLOAD = "payload"
SYSTEM_PAYLOAD = "system-payload"
# A scope sorts before its seats, so that one query reads the scope's state first: see limits/lines.py.
SCOPE = "-"


def payload(job_id: JobId, name: str) -> Key:
    """A payload that does not fit into its job. Its partition is its job's own: none can become hot."""
    return Key(JOBS, (payload_partition(job_id), name))


def payload_partition(job_id: JobId) -> str:
    """The system's own jobs are apart from users' also here: see keys.py."""
    return f"{SYSTEM_PAYLOAD if partition_of(job_id).code == SYSTEM_CODE else PAYLOAD}#{job_id}"


def dedup(ref: DedupRef) -> Key:
    return Key(JOBS, (f"scheduled-job#{ref.job_type}#{ref.key}", ref.window))


def control(name: str) -> Key:
    return Key(JOBS, (CONTROL, name))


def scope_partition(scope: str) -> str:
    return f"seat#{scope}"


def dead_letter(job_id: JobId) -> Key:
    return Key(DEAD_LETTERS, (job_id,))


class _Paged(Protocol):
    @property
    def cursor(self) -> Record | None: ...


def pages[Paged: _Paged](read: Callable[..., Paged]) -> Iterator[Paged]:
    """Page after page of a query, each when it is asked for; `read` takes where the one before it ended (`after`)."""
    page = read(after=None)
    yield page
    while page.cursor is not None:
        page = read(after=page.cursor)
        yield page


def records_in(table: Table, partition: str) -> Iterator[Record]:
    """Every record of a partition, by its sort key."""
    for page in pages(partial(table.query, JOBS, partition, limit=100)):
        yield from page.records


def refusal(table: Table, change: Change) -> Record | None:
    """What stands where a write was refused, which may be nothing; None if it was made."""
    try:
        table.write(change)
    except ConditionFailed as failed:
        return failed.current or {}
    return None


def of_jobs(registry: Registry, *job_types: str) -> list[str]:
    """Where jobs of these types live; of all users' types, if none is named."""
    named = job_types or [each for each in (*registry.types, *registry.retired) if each != DELIVERY]
    codes, fewer = dict.fromkeys(map(registry.code_of, named)), {SYSTEM_CODE: 1}
    return [JobPartition(code, shard).name for code in codes for shard in range(fewer.get(code, registry.shards))]


def id_pattern(code: int) -> str:
    """All ids with this code, as a pattern of IAM's StringLike.

    >>> id_pattern(0x3fa1)
    '????????-????-8??3-?fa1-????????????'
    """
    digits = f"{code:04x}"
    return f"????????-????-8??{digits[0]}-?{digits[1:]}-????????????"
