"""Enqueue: make a job of what a caller asks for, every check before any write, and insert it."""

from __future__ import annotations

import sys
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.dedup import (
    DedupRecord,
    DedupWindow,
    Enqueued,
    OnDuplicate,
    UntilEnded,
    dedup_record,
    parse_key,
    parse_window,
    write_deduplicated,
)
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidJobIdError,
    InvalidOptionError,
    JobIdTakenError,
    StoreUnavailableError,
)
from leasehold.kernel.job import SYSTEM, Job
from leasehold.kernel.job_type import parse_job_type, parse_users_job_type
from leasehold.kernel.jobs import WAKE_WITHIN
from leasehold.kernel.keys import (
    RANDOM_BITS,
    SYSTEM_CODE,
    SYSTEM_SHARD,
    Due,
    Priority,
    code_of,
    instant,
    later,
    make_job_id,
    parse_job_id,
    position_at,
    run_lane,
    scheduled_for_of,
    shard_of,
    to_text,
)
from leasehold.kernel.offload import lay_out
from leasehold.kernel.payload import is_laid_out, resolve
from leasehold.kernel.retry import parse_retry
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY, parse_attempts, parse_priority
from leasehold.lean import dataclass
from leasehold.telemetry import Event
from leasehold.telemetry.spans import API, UNTRACED, current_trace, given, span

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.debounce.burst import Debounce
    from leasehold.kernel.keys import JobId, PriorityName
    from leasehold.kernel.payload import Json, PayloadModel, TypedPayload
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services


_MAX_NAME_BYTES = 256
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """One job of a bulk enqueue; the same fields as `Queue.enqueue` takes."""

    job: str | TypedPayload | None = None
    payload: Json | PayloadModel = None
    run_at: datetime | None = None
    run_in: timedelta | None = None
    start_by: datetime | None = None
    dedup_key: str | None = None
    dedup_window: DedupWindow | None = None
    debounce: timedelta | None = None
    max_wait: timedelta | None = None
    priority: Priority | PriorityName | int | None = None
    max_attempts: int | None = None
    created_by: str = SYSTEM
    retry_of: str | None = None
    concurrency_key: str | None = None
    trace: str | None = None
    template: str | None = None
    retry: RetryPolicy | None = None
    webhook: str | None = None


def request_of(wanted: NewJob) -> JobRequest:
    job_type, payload_text = resolve(wanted.job, wanted.payload)
    request = JobRequest(
        job_type=job_type,
        payload_text=payload_text,
        run_at=wanted.run_at,
        run_in=wanted.run_in,
        start_by=wanted.start_by,
        dedup_key=wanted.dedup_key,
        dedup_window=_parse_window(wanted),
        priority=wanted.priority,
        max_attempts=wanted.max_attempts,
        created_by=wanted.created_by,
        retry_of=wanted.retry_of,
        concurrency_key=wanted.concurrency_key,
        trace=_open_trace() if wanted.trace is None else wanted.trace,
        template=wanted.template,
        retry=wanted.retry,
        webhook=wanted.webhook,
    )
    if wanted.debounce is None and wanted.max_wait is None:
        return request
    return features.debounced(request, wanted.debounce, wanted.max_wait)


def parse_on_duplicate(value: OnDuplicate | str) -> OnDuplicate:
    try:
        return OnDuplicate(value)
    except ValueError:
        names = ", ".join(OnDuplicate)
        raise InvalidOptionError(value, "on_duplicate is not known", f"Use one of {names}.") from None


def _open_trace() -> str | None:
    return current_trace() if API in sys.modules else given.get()


def _parse_window(wanted: NewJob) -> DedupWindow:
    if wanted.dedup_window is None:
        return UntilEnded()
    if wanted.dedup_key is None:
        raise InvalidOptionError(wanted.dedup_window, "dedup_window without a dedup_key does nothing", "Pass a key.")
    return parse_window(wanted.dedup_window)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What a caller asks for; `payload_text` is encoded and bounded already.

    template: fill it from this one, over which `payload_text` is laid; the job type may then be left to it.
    made_from: the template that it was filled from before.
    """

    job_type: str | None
    payload_text: str
    run_at: datetime | None = None
    run_in: timedelta | None = None
    start_by: datetime | None = None
    dedup_key: str | None = None
    dedup_window: DedupWindow = field(default_factory=UntilEnded)
    debounce: Debounce | None = None
    priority: Priority | PriorityName | int | None = None
    max_attempts: int | None = None
    created_by: str = SYSTEM
    retry_of: str | None = None
    concurrency_key: str | None = None
    trace: str | None = None
    schedule: str | None = None
    template: str | None = None
    made_from: str | None = None
    retry: RetryPolicy | None = None
    webhook: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A job that is ready to be written, with the dedup record that moves with it."""

    job: Job
    record: DedupRecord | None = None
    # Whether its id says what it is made for, so that it can have no other.
    has_given_id: bool = False
    # Whose call joins the job of its burst, if there is one.
    debounce: Debounce | None = None


def enqueue(
    request: JobRequest, services: Services, *, on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING
) -> Enqueued:
    services.deployment.refuse_if_halted()
    with span("enqueue", request.job_type, parent=request.trace) if API in sys.modules else UNTRACED as sending:
        drafted = draft(sent_by(sending.trace, request) if sending else request, services)
        enqueued = write(drafted, services, on_duplicate=on_duplicate, audit_entry=creation(drafted.job, services))
        if sending:
            sending.note(job_id=enqueued.job_id)
        return enqueued


def sent_by(trace: str | None, request: JobRequest) -> JobRequest:
    return request if trace is None else replace(request, trace=trace)


def draft(request: JobRequest, services: Services, *, job_id: JobId | None = None) -> Draft:
    # A retry keeps the address that it had, also where it is told no more.
    if request.webhook is not None and request.retry_of is None:
        services.deployment.refuse_if_webhooks_are_off(features.parse_webhook(request.webhook))
    if request.template is not None:
        request = features.filled(request, services)
    registry = services.deployment.registry()
    is_systems = _repeats_systems_job(request)
    parse = parse_job_type if is_systems else parse_users_job_type
    job_type = registry.job_type(parse(request.job_type))
    # What stands in a schedule or an older job was accepted before: its handler decides.
    if job_type.schema is not None and request.retry_of is None and request.schedule is None:
        features.check_payload(job_type, request.payload_text, services)
    now, has_given_id = services.clock.now(), job_id is not None
    # A derived id carries its time already, and the key must agree with it, also when that time has passed.
    scheduled_for = scheduled_for_of(job_id) if job_id else due_time(request.run_at, request.run_in, now)
    if job_id is None:
        shard = SYSTEM_SHARD if is_systems else _users_shard(registry, services)
        job_id = make_job_id(
            scheduled_for, registry.partition_of(job_type.name, shard), services.random_source.bits(RANDOM_BITS)
        )
    else:
        shard = shard_of(job_id)
        if not registry.agrees(job_id, job_type.name):
            raise InvalidJobIdError(job_id, f"this is no id of a {job_type.name} job", "Leave the id out.")
    record = None
    if request.dedup_key is not None:
        key = parse_key(request.dedup_key, "dedup key")
        record = dedup_record(job_type.name, key, request.dedup_window, scheduled_for, job_id)
    priority = job_type.priority if request.priority is None else parse_priority(request.priority)
    job = Job(
        job_id=job_id,
        job_type=job_type.name,
        stored_payload=request.payload_text,
        scheduled_for=scheduled_for,
        status=JobStatus.PENDING,
        priority=priority,
        max_attempts=job_type.max_attempts if request.max_attempts is None else parse_attempts(request.max_attempts),
        created_at=now,
        created_by=parse_words(request.created_by, "created_by"),
        due=Due(scheduled_for, position_at(now), job_id),
        due_lane=run_lane(priority, shard),
        wake=scheduled_for - now < WAKE_WITHIN,
        start_by=_start_by(request.start_by, scheduled_for),
        retry_of=None if request.retry_of is None else parse_job_id(request.retry_of),
        dedup=record.ref if record else None,
        dedup_until=record.window_until if record and record.window_until > scheduled_for else None,
        concurrency_key=(
            None if request.concurrency_key is None else parse_key(request.concurrency_key, "concurrency key")
        ),
        trace=None if request.trace is None else parse_words(request.trace, "trace"),
        schedule=request.schedule,
        template=request.made_from,
        retry=None if request.retry is None else parse_retry(request.retry),
        webhook=None if request.webhook is None else features.parse_webhook(request.webhook),
    )
    return Draft(job, record, has_given_id, request.debounce)


def _repeats_systems_job(request: JobRequest) -> bool:
    """A job of the system's own is made by nobody else, but an operator may have it done again."""
    is_repeat = request.job_type == DELIVERY and request.retry_of is not None
    return is_repeat and code_of(parse_job_id(request.retry_of)) == SYSTEM_CODE


def _users_shard(registry: Registry, services: Services) -> int:
    return services.random_source.bits(32) % registry.shards if registry.shards > 1 else 0


def due_time(run_at: datetime | None, run_in: timedelta | None, now: datetime) -> datetime:
    """When to run; a time in the past means now."""
    if run_at is not None and run_in is not None:
        raise InvalidOptionError((run_at, run_in), "run_at and run_in exclude each other", "Pass one of them.")
    if run_in is not None:
        if not isinstance(run_in, timedelta):
            raise InvalidOptionError(run_in, "run_in is a timedelta", "Use timedelta(seconds=...).")
        return max(later(now, max(run_in, timedelta(0)), what="run_in"), now)
    if run_at is None:
        return now
    return max(_no_earlier_than_epoch(run_at, now), now)


def _no_earlier_than_epoch(run_at: datetime, now: datetime) -> datetime:
    """An aware time before 1970 cannot be a key, but like every past time it means now."""
    try:
        return instant(run_at, what="run_at")
    except InvalidInputError:
        if getattr(run_at, "year", 9999) < 1971 and getattr(run_at, "tzinfo", None) is not None:
            return now
        raise


def _start_by(start_by: datetime | None, scheduled_for: datetime) -> datetime | None:
    if start_by is None:
        return None
    limit = instant(start_by, what="start_by")
    if limit <= scheduled_for:
        raise InvalidOptionError(
            to_text(limit), f"start_by is not after the job's time {to_text(scheduled_for)}", "Choose a later start_by."
        )
    return limit


def parse_words(value: object, what: str) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or len(value.encode()) > _MAX_NAME_BYTES:
        raise InvalidOptionError(value, f"{what} is 1 to {_MAX_NAME_BYTES} bytes of printable text", "Correct it.")
    return value


def write(
    drafted: Draft,
    services: Services,
    *,
    on_duplicate: OnDuplicate,
    successor_of: JobId | None = None,
    audit_entry: AuditEntry | None = None,
) -> Enqueued:
    """Write a draft. `successor_of` names an ended job whose dedup key the new one inherits.

    With a `audit entry` its record is written in the same transaction; a duplicate, which makes no job, leaves none.
    """
    if drafted.debounce is not None:
        return features.enqueue_debounced(drafted, services, audit_entry=audit_entry)
    if drafted.record is not None:
        result = write_deduplicated(
            drafted.job,
            drafted.record,
            services,
            on_duplicate=on_duplicate,
            successor_of=successor_of,
            audit_entry=audit_entry,
        )
    elif audit_entry is not None:
        result = features.insert_recorded(drafted.job, audit_entry, services)
    else:
        drafted = replace(drafted, job=inserted(drafted, services))
        result = Enqueued(job_id=drafted.job.job_id, created=True)
    if result.created:
        log_enqueued(drafted.job, services)
    return result


def inserted(drafted: Draft, services: Services, *, refused: ConditionFailed | None = None) -> Job:
    """Insert a job, under another id if there is one already that this call did not write."""
    job = drafted.job
    for _ in range(_TRIES):
        stored, item = (job, None) if is_laid_out(job.stored_payload) else lay_out(job, services)
        try:
            if refused is not None:
                raise refused
            if item is not None:
                services.store.payloads.insert(item)
            services.store.jobs.insert(stored)
        except ConditionFailed as failed:
            from leasehold.kernel.collisions import is_own, renamed

            refused = None
            if is_own(stored, failed, drafted, services):
                return job
            if drafted.has_given_id:
                raise JobIdTakenError(job.job_id) from None
            job = renamed(job, services)
        else:
            return job
    raise StoreUnavailableError(f"{_TRIES} ids in a row were taken; look at this machine's source of random numbers")


def log_enqueued(job: Job, services: Services) -> None:
    services.telemetry.event(
        Event.JOB_ENQUEUED,
        job_id=job.job_id,
        job_type=job.job_type,
        scheduled_for=job.scheduled_for.isoformat(),
        created_by=job.created_by,
        trace=job.trace,
    )


def creation(job: Job, services: Services) -> AuditEntry | None:
    """What a person's new job leaves on record; None for jobs of the system, and of types that switch it off."""
    if job.created_by == SYSTEM or not services.deployment.settings_of(job.job_type).audit_creation:
        return None
    return features.entry_of_new_job(job, services)
