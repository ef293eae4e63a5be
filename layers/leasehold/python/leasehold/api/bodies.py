"""What actions take in their bodies: JSON of these types and bounds, and no other field."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from leasehold.admin.job_documents import encode_shown
from leasehold.admin.pages import MAX_LIMIT
from leasehold.api.requests import DeadLetterFilters, JobFilters, Moment, Span, Word
from leasehold.kernel.dedup import Day, DedupWindow, UntilEnded, Within
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.job import MAX_REASON_BYTES
from leasehold.kernel.retry import Delays, Exponential, Fixed, RetryPolicy
from leasehold.operate.order import MAX_PLACES

type Reason = Annotated[str, StringConstraints(max_length=MAX_REASON_BYTES)]
type Priority = Annotated[int, Field(ge=0, le=3, description="3 is the most urgent")]
type Attempts = Annotated[int, Field(ge=1, le=1000)]
type Webhook = Annotated[str, StringConstraints(min_length=1, max_length=2048)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ActionBody(Body):
    """`reason`: why, for whoever looks at it later; needed where the deployment asks for it."""

    reason: Reason = ""


class ReasonBody(ActionBody):
    """Why, for whoever looks at it later: it stands in the audit record. Needed where the deployment asks for it."""

    may_be_left_out: ClassVar = True


class _JobOptions(Body):
    priority: Priority | None = None
    max_attempts: Attempts | None = None
    retry: Retry | None = None
    webhook: Webhook | None = None


class MemberBody(_JobOptions):
    """A job of a group; the group decides when it runs."""

    job_type: Word | None = None
    payload: JsonValue = None
    start_by: Moment | None = None
    concurrency_key: Word | None = None
    template: Word | None = None
    template_id: Annotated[Word | None, Field(description="another name of `template`")] = None

    @model_validator(mode="after")
    def _one_template(self) -> Self:
        if None not in {self.template, self.template_id} and self.template != self.template_id:
            raise ValueError("template and template_id are two names of one thing, and differ")
        return self


class NewJobBody(ActionBody, MemberBody):
    """A job. Either `job_type` or a `template` that brings one; `run_in` is in seconds."""

    run_at: Moment | None = None
    run_in: Seconds | None = None
    dedup_key: Word | None = None
    dedup_window: Window | None = None
    on_duplicate: Literal["return_existing", "raise", "replace"] = "return_existing"


class RetryBody(ReasonBody):
    """`priority`: of the new job; left out, that of the old one."""

    priority: Priority | None = None


class RescheduleBody(ActionBody):
    """Exactly one of `run_at` and `run_in` (seconds)."""

    run_at: Moment | None = None
    run_in: Seconds | None = None


class PriorityBody(ActionBody):
    priority: Priority


class MoveBody(ActionBody):
    """Exactly one of `before` and `after`, a waiting job's id, and `position`: 1 is dispatched next."""

    before: Word | None = None
    after: Word | None = None
    position: Annotated[int, Field(ge=1, le=MAX_PLACES)] | None = None


class DirectRunBody(ActionBody):
    """`timeout`: how many seconds it may wait for its turn; the handler's own time comes on top."""

    job_type: Word
    payload: JsonValue = None
    timeout: Annotated[float, Field(ge=0, le=840, allow_inf_nan=False)] = 60


class RedriveBody(ReasonBody):
    """`payload`: what it is to do instead, in the form in which a dead letter shows it; left out, the same again."""

    payload: JsonValue = None

    @property
    def payload_text(self) -> str | None:
        return encode_shown(self.payload) if "payload" in self.model_fields_set else None


class CancelManyBody(JobFilters, ActionBody):
    """Either `job_ids`, or filters, all of which must hold: jobs that wait, and that run where `status` says so.

    `dry_run` only says which these are; to cancel just those, send their ids.
    """

    job_ids: Annotated[list[Word], Field(min_length=1, max_length=MAX_LIMIT)] | None = None
    status: list[Literal["pending", "failed", "in_progress"]] = []
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = MAX_LIMIT
    dry_run: bool = False

    @property
    def filters(self) -> dict[str, Any]:
        given = self.model_fields_set - {"job_ids", "reason", "limit", "dry_run", "status"}
        return {name: getattr(self, name) for name in given}

    @model_validator(mode="after")
    def _named_or_filtered(self) -> Self:
        if (self.job_ids is None) is not bool(self.filters):
            raise ValueError("jobs are named by job_ids, or filtered by something besides status")
        if self.job_ids is not None and self.dry_run:
            raise ValueError("a dry run is of filters")
        return self


class RedriveManyBody(DeadLetterFilters, ActionBody):
    """The oldest that match, at most `limit` of them; `dry_run` only says which these are."""

    limit: Annotated[int, Field(ge=1, le=100)] = 25
    dry_run: bool = False


class SchedulePlan(ActionBody):
    """Either `every` (seconds) or a five-field `cron` line."""

    job_type: Word | None = None
    payload: JsonValue = None
    template: Word | None = None
    every: Span | None = None
    cron: Word | None = None
    timezone: Word | None = None
    on_dst_gap: Literal["once", "skip"] | None = None
    on_dst_overlap: Literal["once", "both", "skip"] | None = None
    missed: Literal["latest", "all", "skip"] | None = None
    missed_window: Span | None = None
    overlap: Literal["allow", "skip", "queue"] | None = None
    priority: Priority | None = None


class NewScheduleBody(SchedulePlan):
    name: Word
    enabled: bool = True


class ScheduleBody(SchedulePlan):
    """What is left out stays as it is."""

    enabled: bool | None = None


class BackfillBody(ActionBody):
    """From `start` to `end`; at most 200 slots at once.

    Slots older than the type's retention are refused, unless `beyond_retention` says that they may be run twice.
    """

    start: Moment
    end: Moment
    beyond_retention: bool = False


class TemplatePreset(ActionBody, _JobOptions):
    payload: dict[str, JsonValue] | None = None
    description: Annotated[str, StringConstraints(min_length=1, max_length=1024)] | None = None


class NewTemplateBody(TemplatePreset):
    name: Word
    job_type: Word


class TemplateBody(TemplatePreset):
    """What is left out stays as it is; `remove` names what is left to the job type again."""

    job_type: Word | None = None
    remove: list[Word] = Field(default=[], max_length=10)


class NewGroupBody(ActionBody):
    """Up to 1,000 jobs over HTTP; the library takes more."""

    jobs: Annotated[list[MemberBody], Field(min_length=1, max_length=1000)]
    mode: Literal["sequential", "parallel"] = "sequential"
    on_failure: Literal["stop", "continue", "skip_remaining"] = "stop"
    callback: MemberBody | None = None
    group_id: Word | None = None


def job_of(body: MemberBody) -> NewJob:
    """Of a job that stands alone, or is a member of a group."""
    options = {name: value for name, value in options_of(body).items() if name not in _NOT_OF_THE_JOB}
    return NewJob(**{**options, "template": body.template_id if body.template is None else body.template})


def options_of(body: Body) -> dict[str, Any]:
    """What a body says, as the verbs of the library take it."""
    converted = {name: _CONVERT[name](value) for name, value in body if value is not None and name in _CONVERT}
    return {"job" if name == "job_type" else name: converted.get(name, value) for name, value in body}


def _duration(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


_NOT_OF_THE_JOB = frozenset({"template_id", "on_duplicate", "reason"})
_CONVERT: dict[str, Callable[[Any], Any]] = {
    "run_in": _duration,
    "every": _duration,
    "missed_window": _duration,
    "retry": lambda retry: _KINDS[retry.kind](retry),
    "dedup_window": lambda window: _KINDS[window.kind](window),
}


type Seconds = Annotated[float, Field(ge=0, le=366 * 24 * 3600, allow_inf_nan=False)]


class UntilEndedWindow(Body):
    kind: Literal["until_ended"]


class WithinWindow(Body):
    kind: Literal["within"]
    seconds: Span


class DayWindow(Body):
    kind: Literal["day"]
    timezone: Word = "UTC"


class ExponentialRetry(Body):
    kind: Literal["exponential"]
    base: Seconds = 60
    cap: Seconds = 6 * 3600
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1


class FixedRetry(Body):
    kind: Literal["fixed"]
    delay: Seconds


class DelaysRetry(Body):
    kind: Literal["delays"]
    delays: Annotated[list[Seconds], Field(min_length=1, max_length=50)]


_KINDS: dict[str, Callable[[Any], DedupWindow | RetryPolicy]] = {
    "until_ended": lambda _: UntilEnded(),
    "within": lambda window: Within(_duration(window.seconds)),
    "day": lambda window: Day(window.timezone),
    "exponential": lambda retry: Exponential(_duration(retry.base), _duration(retry.cap), retry.jitter),
    "fixed": lambda retry: Fixed(_duration(retry.delay)),
    "delays": lambda retry: Delays(tuple(map(_duration, retry.delays))),
}

type Window = Annotated[UntilEndedWindow | WithinWindow | DayWindow, Field(discriminator="kind")]
type Retry = Annotated[ExponentialRetry | FixedRetry | DelaysRetry, Field(discriminator="kind")]
