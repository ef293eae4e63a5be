"""Enqueue: make a job of what a caller asks for, every check before any write, and insert it."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from leasehold import features
from leasehold.kernel import keys
from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError, JobIdTakenError, StoreUnavailableError
from leasehold.kernel.job import SYSTEM, Job
from leasehold.kernel.job_type import parse_job_type, parse_users_job_type
from leasehold.kernel.jobs import WAKE_WITHIN
from leasehold.kernel.keys import SYSTEM_CODE, SYSTEM_SHARD, Due, JobPartition, make_job_id, parse_job_id, partition_of
from leasehold.kernel.payload import is_stored_form, resolve
from leasehold.kernel.refusals import is_own_insert
from leasehold.kernel.retry import parse_retry
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.times import due_time, start_limit
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY, parse_attempts, parse_choice, parse_key, parse_priority
from leasehold.lean import dataclass
from leasehold.telemetry import Event
from leasehold.telemetry.spans import API, UNTRACED, current_trace, given, span

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.dedup import DedupRecord, DedupWindow
    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload

_MAX_NAME_BYTES = 256
_TRIES = 5
_LOGGED = ("job_id", "job_type", "created_by", "trace", "schedule", "group_id")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What a caller asks for, with its payload encoded and bounded; a template may still name the job type.

    schedule, made_from: who asks on behalf of one says so; `made_from` is a template that it was filled from before.
    """

    wanted: NewJob
    job_type: str | None
    payload_text: str
    trace: str | None = None
    schedule: str | None = None
    made_from: str | None = None


def request_of(wanted: NewJob) -> JobRequest:
    job_type, payload_text = resolve(wanted.job, wanted.payload)
    trace = wanted.trace
    if trace is None:
        trace = current_trace() if API in sys.modules else given.get()
    request = JobRequest(wanted=wanted, job_type=job_type, payload_text=payload_text, trace=trace)
    return request if wanted.debounce is None and wanted.max_wait is None else features.debounced(request)


class OnDuplicate(StrEnum):
    RETURN_EXISTING = "return_existing"
    RAISE = "raise"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """Which job it is now, and whether this call made it. `replaced` is the waiting job that it took the place of."""

    job_id: JobId
    created: bool
    replaced: JobId | None = None


def parse_on_duplicate(value: OnDuplicate | str) -> OnDuplicate:
    return value if isinstance(value, OnDuplicate) else parse_choice(OnDuplicate, value, "on_duplicate")


@dataclass(frozen=True, slots=True)
class Draft:
    """A job that is ready to be written, with the dedup record that moves with it."""

    job: Job
    record: DedupRecord | None = None
    # Whether its id says what it is made for, so that it can have no other.
    has_given_id: bool = False
    # Whose call joins the job of its burst, if there is one.
    burst: NewJob | None = None


def enqueue(
    wanted: NewJob, services: Services, *, on_duplicate: OnDuplicate | str = OnDuplicate.RETURN_EXISTING
) -> Enqueued:
    request, on_duplicate = request_of(wanted), parse_on_duplicate(on_duplicate)
    services.deployment.refuse_if_halted()
    with span("enqueue", request.job_type, parent=request.trace) if API in sys.modules else UNTRACED as sending:
        drafted = draft(request, services, trace=sending.trace if sending else None)
        enqueued = write(drafted, services, on_duplicate=on_duplicate, audit_entry=creation(drafted.job, services))
        if sending:
            sending.note(job_id=enqueued.job_id)
        return enqueued


def draft(request: JobRequest, services: Services, *, job_id: JobId | None = None, trace: str | None = None) -> Draft:
    """Check all of a request and make its job.

    job_id: given where it is derived from what the job is made for. trace: of the span that sends the job.
    """
    # A retry keeps the address that it had, also where it is told no more.
    if request.wanted.webhook is not None and request.wanted.retry_of is None:
        features.checked_webhook(request.wanted.webhook, services.deployment)
    if request.wanted.template is not None:
        request = features.filled(request, services)
    wanted, registry = request.wanted, services.deployment.registry()
    is_systems = _repeats_systems_job(request)
    job_type = registry.job_type((parse_job_type if is_systems else parse_users_job_type)(request.job_type))
    # What stands in a schedule or an older job was accepted before: its handler decides.
    if job_type.schema is not None and wanted.retry_of is None and request.schedule is None:
        features.check_payload(job_type, request.payload_text, services)
    now, has_given_id = services.clock.now(), job_id is not None
    if job_id is None:
        is_now = wanted.run_at is None and wanted.run_in is None
        scheduled_for = now if is_now else due_time(wanted.run_at, wanted.run_in, now)
        has_choice = registry.shards > 1 and not is_systems
        shard = services.random_source.bits(32) % registry.shards if has_choice else SYSTEM_SHARD
        partition = JobPartition(registry.code_of(job_type.name), shard)
        job_id = make_job_id(scheduled_for, partition, services.random_source.bits(keys.RANDOM_BITS))
    else:
        # It carries its time already, and the key must agree with it, also when that time has passed.
        scheduled_for, shard = keys.scheduled_for_of(job_id), partition_of(job_id).shard
        if not registry.agrees(job_id, job_type.name):
            raise InvalidJobIdError(job_id, f"this is no id of a {job_type.name} job", "Leave the id out.")
    record = None
    if wanted.dedup_key is not None or wanted.dedup_window is not None:
        from leasehold.kernel.dedup import dedup_record

        record = dedup_record(job_type.name, wanted.dedup_key, wanted.dedup_window, scheduled_for, job_id)
    priority = job_type.priority if wanted.priority is None else parse_priority(wanted.priority)
    job = Job(
        job_id=job_id,
        job_type=job_type.name,
        stored_payload=request.payload_text,
        scheduled_for=scheduled_for,
        status=JobStatus.PENDING,
        priority=priority,
        max_attempts=job_type.max_attempts if wanted.max_attempts is None else parse_attempts(wanted.max_attempts),
        created_at=now,
        created_by=parse_words(wanted.created_by, "created_by"),
        due=Due(scheduled_for, keys.position_at(now), job_id),
        due_lane=keys.run_lane(priority, shard),
        wake=scheduled_for - now < WAKE_WITHIN,
        start_by=None if wanted.start_by is None else start_limit(wanted.start_by, scheduled_for),
        retry_of=None if wanted.retry_of is None else parse_job_id(wanted.retry_of),
        dedup=record.ref if record else None,
        dedup_until=record.window_until if record and record.window_until > scheduled_for else None,
        concurrency_key=None if (key := wanted.concurrency_key) is None else parse_key(key, "concurrency key"),
        trace=None if (trace := trace or request.trace) is None else parse_words(trace, "trace"),
        schedule=request.schedule,
        template=request.made_from,
        retry=None if wanted.retry is None else parse_retry(wanted.retry),
        webhook=None if wanted.webhook is None else features.parse_webhook(wanted.webhook),
    )
    return Draft(job, record, has_given_id, None if wanted.debounce is None else wanted)


def _repeats_systems_job(request: JobRequest) -> bool:
    """A job of the system's own is made by nobody else, but an operator may have it done again."""
    repeated = request.wanted.retry_of if request.job_type == DELIVERY else None
    return repeated is not None and partition_of(parse_job_id(repeated)).code == SYSTEM_CODE


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
    if drafted.burst is not None:
        return features.enqueue_debounced(drafted, services, audit_entry=audit_entry)
    if drafted.record is not None:
        from leasehold.kernel.dedup import write_deduplicated

        result = write_deduplicated(drafted, services, on_duplicate, successor_of, audit_entry)
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
        try:
            if refused is not None:
                raise refused
            stored = job
            if not is_stored_form(job.stored_payload):
                from leasehold.kernel.offload import offloaded

                stored = offloaded(job, services)
            services.store.jobs.insert(stored)
        except ConditionFailed as failed:
            refused = None
            if is_own_insert(job, failed, services, has_given_id=drafted.has_given_id):
                return job
            if drafted.has_given_id:
                raise JobIdTakenError(job.job_id) from None
            bits = services.random_source.bits(keys.RANDOM_BITS)
            job_id = make_job_id(job.scheduled_for, partition_of(job.job_id), bits)
            job = replace(job, job_id=job_id, due=cast("Due", job.due)._replace(item_id=job_id))
        else:
            return job
    raise StoreUnavailableError(f"{_TRIES} ids in a row were taken; look at this machine's source of random numbers")


def log_enqueued(job: Job, services: Services) -> None:
    said = {name: getattr(job, name) for name in _LOGGED}
    services.telemetry.event(Event.JOB_ENQUEUED, **said, scheduled_for=job.scheduled_for.isoformat())


def creation(job: Job, services: Services) -> AuditEntry | None:
    """What a person's new job leaves on record; None for jobs of the system, and of types that switch it off."""
    if job.created_by == SYSTEM or not services.deployment.settings_of(job.job_type).audit_creation:
        return None
    return features.entry_of_new_job(job, services)
