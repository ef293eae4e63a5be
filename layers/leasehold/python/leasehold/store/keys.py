"""Where each kind of record lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.ids import JobId, key_of
from leasehold.store.definition import DEAD_LETTERS, JOBS
from leasehold.store.table import Key

if TYPE_CHECKING:
    from leasehold.domain.dedup import DedupRef

CONTROL = "control"
HALT = "halt"
PAUSE = "pause#"
REGISTRY = "registry"
WATCH = "watch"
SCHEDULE = "schedule"
# A scope sorts before its seats, so that one query reads the scope's state first: see holds.py.
SCOPE = "-"


def job(job_id: JobId) -> Key:
    return Key(JOBS, tuple(key_of(job_id)))


def dedup(ref: DedupRef) -> Key:
    return Key(JOBS, (f"scheduled-job#{ref.job_type}#{ref.key}", ref.window))


def control(name: str) -> Key:
    return Key(JOBS, (CONTROL, name))


def pause(job_type: str) -> Key:
    return control(PAUSE + job_type)


def watch(shard: int) -> Key:
    return Key(JOBS, (WATCH, str(shard)))


def residency() -> Key:
    return Key(JOBS, (WATCH, "resident"))


def schedule(name: str) -> Key:
    return Key(JOBS, (SCHEDULE, name))


def audit(target: str, at: str, entry_id: str) -> Key:
    return Key(JOBS, (f"audit#{target}", f"{at}#{entry_id}"))


def scope_partition(scope: str) -> str:
    return f"seat#{scope}"


def scope_of_partition(partition: str) -> str:
    return partition.removeprefix("seat#")


def scope(name: str) -> Key:
    return Key(JOBS, (scope_partition(name), SCOPE))


def seat(scope_name: str, number: int) -> Key:
    return Key(JOBS, (scope_partition(scope_name), f"{number:06d}"))


def dead_letter(job_id: JobId) -> Key:
    return Key(DEAD_LETTERS, (job_id,))
