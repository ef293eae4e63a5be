"""What listings take in their query strings; anything else is refused."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from leasehold.admin.pages import DEFAULT_LIMIT, MAX_LIMIT
from leasehold.domain.ids import MAX_SHARDS
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.run_document import statuses_of
from leasehold.engine.queue_order import MAX_PLACES

# Also in the words of the requirements' API. Capitals tell them apart: `failed` waits for its next attempt.
type Status = Literal[
    "pending",
    "in_progress",
    "failed",
    "completed",
    "cancelled",
    "dead_letter",
    "QUEUED",
    "RUNNING",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
]


def _written_out(value: object) -> object:
    """pydantic would also take seconds since 1970, which nobody means."""
    if not isinstance(value, str) or "-" not in value[1:]:
        raise ValueError("a time is written like 2026-11-15T09:30:00Z")
    return value


type Word = Annotated[str, StringConstraints(min_length=1, max_length=256)]
type Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out)]


class Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Paging(Query):
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None


class JobsQuery(Paging):
    """Every filter that is given must hold; `status` may come several times, also as a `state`: QUEUED, RUNNING, …"""

    job_type: Word | None = None
    status: Annotated[list[Status], Field(max_length=len(get_args(Status.__value__)))] = []
    scheduled_from: Moment | None = None
    scheduled_to: Moment | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None
    ended_from: Moment | None = None
    ended_to: Moment | None = None
    dedup_key: Word | None = None
    concurrency_key: Word | None = None
    group_id: Word | None = None
    schedule: Word | None = None
    template: Word | None = None

    @property
    def statuses(self) -> frozenset[JobStatus]:
        named = (statuses_of(each) if each.isupper() else {JobStatus(each)} for each in self.status)
        return frozenset[JobStatus]().union(*named)


class QueueQuery(Query):
    """From the place `first` on. held_by: those of this type that are held back; `report#acme` of its key `acme`."""

    shard: Annotated[int, Field(ge=0, lt=MAX_SHARDS)] = 0
    held_by: Annotated[str, StringConstraints(min_length=1, max_length=512)] | None = None
    first: Annotated[int, Field(ge=1, le=MAX_PLACES)] = 1
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT


class LettersQuery(Paging):
    job_type: Word | None = None
    failed_from: Moment | None = None
    failed_to: Moment | None = None


class ScheduleQuery(Query):
    next_runs: Annotated[int, Field(ge=0, le=100)] = 5


class AuditQuery(Paging):
    """target: `job#<id>`, `schedule#<name>`, `control#halt`, …"""

    target: Annotated[str, StringConstraints(min_length=1, max_length=512)] | None = None
