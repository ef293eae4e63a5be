"""What listings take in their query strings; anything else is refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from leasehold.admin.pages import DEFAULT_LIMIT, MAX_LIMIT
from leasehold.domain.lifecycle import JobStatus


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
    """Every filter that is given must hold; `status` may come several times."""

    job_type: Word | None = None
    status: Annotated[list[JobStatus], Field(max_length=len(JobStatus))] = []
    scheduled_from: Moment | None = None
    scheduled_to: Moment | None = None
    ended_from: Moment | None = None
    ended_to: Moment | None = None
    dedup_key: Word | None = None
    concurrency_key: Word | None = None
    group_id: Word | None = None
    schedule: Word | None = None
    template: Word | None = None


class LettersQuery(Paging):
    job_type: Word | None = None
    failed_from: Moment | None = None
    failed_to: Moment | None = None


class ScheduleQuery(Query):
    next_runs: Annotated[int, Field(ge=0, le=100)] = 5


class AuditQuery(Paging):
    """target: `job#<id>`, `schedule#<name>`, `control#halt`, …"""

    target: Annotated[str, StringConstraints(min_length=1, max_length=512)] | None = None
