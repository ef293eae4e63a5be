"""Everything that is stored, read behind the library's back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold.groups.records import group_of
from leasehold.kernel.dead_letter import dead_letter_of
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.job import DedupRef, job_of
from leasehold.kernel.keys import job_id_of_key
from leasehold.kernel.partitions import PAYLOAD, SYSTEM_PAYLOAD, payload_partition
from leasehold.kernel.payload_forms import text_in

if TYPE_CHECKING:
    from leasehold.groups.model import Group
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job
    from tests.crash.world import World


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    jobs: dict[str, Job]
    dead_letters: dict[str, DeadLetter]
    # Which job each dedup record points to.
    pointers: dict[DedupRef, str]
    groups: dict[str, Group]

    @classmethod
    def of(cls, world: World) -> Snapshot:
        records = _scan(world, world.names.jobs)
        dead_letters = [dead_letter_of(record) for record in _scan(world, world.names.dead_letters)]
        return cls(
            jobs={job.job_id: job for job in _jobs_of(records)},
            dead_letters={dead_letter.id: dead_letter for dead_letter in dead_letters},
            pointers={
                _ref_of(record): job_id_of_key(record["job_sk"])
                for record in records
                if record["PK"].startswith("scheduled-job#")
            },
            groups={group.group_id: group for group in _groups_of(records)},
        )

    def members(self, group: Group) -> dict[int, Job]:
        """Those that exist, by their number."""
        ids = {group.member_id(number): number for number in range(group.total)}
        return {ids[job.job_id]: job for job in self.jobs.values() if job.job_id in ids}

    def successors(self, job_id: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.retry_of == job_id]

    def with_key(self, key: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.dedup is not None and job.dedup.key == key]


def stored_jobs(world: World) -> list[Job]:
    return _jobs_of(_scan(world, world.names.jobs))


def stored(world: World) -> tuple[list[Job], list[Group]]:
    records = _scan(world, world.names.jobs)
    return _jobs_of(records), _groups_of(records)


def _groups_of(records: list[dict[str, Any]]) -> list[Group]:
    return [group_of(record) for record in records if record["SK"] == "group"]


def _jobs_of(records: list[dict[str, Any]]) -> list[Job]:
    """Users' jobs, and the system's own."""
    jobs = [job_of(record) for record in records if record["PK"].partition("#")[0] in {"job", "system"}]
    texts = {(record["PK"], record["SK"]): text_in(record["payload"]) for record in records if _is_payload(record)}
    return [_with_payload(job, texts) for job in jobs]


def _is_payload(record: dict[str, Any]) -> bool:
    return record["PK"].partition("#")[0] in {PAYLOAD, SYSTEM_PAYLOAD}


def _with_payload(job: Job, texts: dict[tuple[str, str], str]) -> Job:
    """A job never names a payload that is not there, whenever one looks."""
    if job.payload_name is None:
        return job
    found = texts.get((payload_partition(job.job_id), job.payload_name))
    assert found is not None, f"the payload of {job.job_id} is missing"
    return replace(job, read_payload=found)


def _ref_of(record: dict[str, Any]) -> DedupRef:
    _, job_type, key = record["PK"].split("#")
    return DedupRef(job_type, key, record["SK"])


def _scan(world: World, table: str) -> list[dict[str, Any]]:
    answer: Any = world.site.healthy.scan(TableName=table, ConsistentRead=True)
    assert "LastEvaluatedKey" not in answer
    return [from_item(item) for item in answer["Items"]]
