"""What the API answers, for its description: the fields that are always there, and the most used of the others.

Answers are made by leasehold.admin.job_documents and its neighbours; a test holds them to these.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from leasehold.direct_runs.model import DirectState
from leasehold.kernel.transitions import JobStatus


class Document(BaseModel):
    """Unset values are left out. Times are in UTC, durations are seconds."""

    model_config = ConfigDict(extra="allow")


class Problem(Document):
    """RFC 9457. `code` is stable: programs decide by it, and people read `detail`."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    fields: list[dict[str, str]] = Field(default=[], description="with invalid_request: each field that is wrong")


class JobSummary(Document):
    job_id: str
    job_type: str
    status: JobStatus
    state: Literal["QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
    priority: int
    scheduled_for: AwareDatetime
    created_at: AwareDatetime
    created_by: str
    attempts: int
    max_attempts: int


class PlacedJob(JobSummary):
    position: int


class QueuePage(Document):
    """The jobs that are due and wait, the next first; `is_complete` if nobody waits behind them."""

    items: list[PlacedJob]
    is_complete: bool


class Run(Document):
    job_id: str
    job_type: str
    job_status: str
    run_id: str
    attempt: int
    status: Literal["RUNNING", "COMPLETED", "FAILED", "SKIPPED"]
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = Field(default=None, description="missing while it runs")


class Job(JobSummary):
    payload: Any
    position: int | None = Field(default=None, description="of those that are due and wait, up to 1,000")
    logs: str | None = Field(default=None, description="an address in CloudWatch Logs Insights, or a command")
    runs: list[Run]
    timeline: list[dict[str, Any]]


class Enqueued(Document):
    """`created` is false where a job with that dedup key was there, or a waiting one was made due."""

    job_id: str
    created: bool


class Cancelled(Document):
    """`job_ended` is false where the job runs: it was asked to stop."""

    job_id: str
    job_ended: bool


class CancelledMany(Document):
    """`is_complete` is false where more match. `error` of a result says why that job was left as it is."""

    dry_run: bool
    is_complete: bool
    items: list[JobSummary] = Field(default=[], description="of a dry run")
    results: list[Cancelled] = []


class DirectRun(Document):
    run_id: str
    job_type: str
    state: DirectState
    by: str
    asked_at: AwareDatetime
    expires_at: AwareDatetime


class DeadLetterSummary(Document):
    id: str
    original_job_id: str
    job_type: str
    failed_at: AwareDatetime
    failure_reason: str
    error_code: str
    attempts: int
    is_open: bool


class DeadLetter(DeadLetterSummary):
    payload: Any
    traceback: str
    runs: list[dict[str, Any]]


class Redriven(Document):
    """`error` says why a dead letter of many was left as it is."""

    dead_letter_id: str


class RedrivenMany(Document):
    dry_run: bool
    job_ids: list[str] = Field(default=[], description="of a dry run")
    results: list[Redriven] = []


class Schedule(Document):
    name: str
    job_type: str
    payload: Any
    enabled: bool
    paused: bool
    is_active: bool
    plan: str = Field(description="when it runs, in words")
    next_runs: list[AwareDatetime]


class PayloadSchema(Document):
    job_type: str
    payload_schema: dict[str, Any] | None = Field(default=None, description="with an example, where one can be made")


class SchedulePreview(Document):
    plan: str = Field(description="when it would run, in words")
    next_runs: list[AwareDatetime]


class Triggered(Document):
    job_id: str


class Backfilled(Document):
    job_ids: list[str]


class Template(Document):
    name: str
    job_type: str
    payload: dict[str, Any]
    version: int


class Deleted(Document):
    name: str
    deleted: bool


class Group(Document):
    group_id: str
    state: str
    mode: Literal["sequential", "parallel"]
    on_failure: Literal["stop", "continue", "skip_remaining"]
    total: int
    completed: int
    failed: int
    cancelled: int
    skipped: int


class Switched(Document):
    """`changed` is false where it was so already."""

    changed: bool


class Control(Document):
    pauses: dict[str, Any]
    reservations: dict[str, Any]
    types: dict[str, Any]
    shards: int
    ended_index: bool


class Counts(Document):
    at: AwareDatetime
    statuses: dict[JobStatus, Any]
    dead_letters: dict[str, Any]


class LastHour(Document):
    minutes: list[dict[str, Any]] = []


class Backlog(Document):
    types: dict[str, Any]
    dead_letters: int


class AuditRecord(Document):
    id: str
    target: str
    action: str
    by: str
    at: AwareDatetime
    reason: str
    details: str
    previous: str
    head: str


class Unreadable(Document):
    """A record that was damaged, or written by a newer version; `key` is where it stands in its table."""

    key: str
    problem: str


class Page(Document):
    """`cursor` is missing after the last page, and only then: a page may be short, or empty, and have one.

    `unreadable` is what was found and cannot be shown.
    """

    order: str
    is_ordered: bool
    searched: int
    unreadable: list[Unreadable]
    cursor: str | None = None
    reached: AwareDatetime | None = None


class JobPage(Page):
    items: list[JobSummary]


class DeadLetterPage(Page):
    items: list[DeadLetterSummary]


class SchedulePage(Page):
    items: list[Schedule]


class TemplatePage(Page):
    items: list[Template]


class GroupPage(Page):
    items: list[Group]


class AuditPage(Page):
    items: list[AuditRecord]


class OpenApi(Document):
    openapi: str
