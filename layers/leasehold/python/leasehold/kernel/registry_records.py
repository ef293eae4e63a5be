"""The registry of deployed job types as one record."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority, from_text
from leasehold.kernel.registry import Registry, Reservation
from leasehold.kernel.retry import retry_document, retry_of
from leasehold.kernel.table import FORMAT, WRITTEN_FORMAT, check_format
from leasehold.kernel.type_options import Batch, CircuitBreaker, OnFull, Rate, Retention, RunEvent, Webhook

if TYPE_CHECKING:
    from leasehold.kernel.table import Record


def registry_record(registry: Registry) -> Record:
    types = {name: _type_document(job_type) for name, job_type in sorted(registry.types.items())}
    optional: Record = {}
    if registry.concurrency is not None:
        optional["concurrency"] = registry.concurrency
    if registry.resources:
        optional["resources"] = dict(registry.resources)
    if registry.retired:
        optional["retired"] = dict(registry.retired)
    if registry.audit_roots is not None:
        optional["audit_roots"] = registry.audit_roots
    if registry.require_reasons:
        optional["require_reasons"] = True
    return {
        **optional,
        FORMAT: WRITTEN_FORMAT,
        "shards": registry.shards,
        "isolate_types": registry.isolate_types,
        "ended_index": registry.ended_index,
        "types": json.dumps(types, separators=(",", ":")),
    }


def registry_of(record: Record) -> Registry:
    check_format(record, "what is deployed")
    read: dict[str, Any] = record
    types = {name: _type_of(name, document) for name, document in json.loads(read["types"]).items()}
    return Registry(
        types=types,
        shards=read["shards"],
        isolate_types=read["isolate_types"],
        retired=read.get("retired", {}),
        ended_index=read["ended_index"],
        concurrency=read.get("concurrency"),
        resources=read.get("resources", {}),
        audit_roots=read.get("audit_roots"),
        require_reasons=read.get("require_reasons", False),
    )


def _type_document(job_type: JobType) -> dict[str, object]:
    document: dict[str, object] = {
        "code": job_type.code,
        "timeout": job_type.timeout.total_seconds(),
        "max_event_age": job_type.max_event_age.total_seconds(),
        "priority": int(job_type.priority),
        "max_attempts": job_type.max_attempts,
        "retry": retry_document(job_type.retry),
        "retention": [
            job_type.retention.completed.total_seconds(),
            job_type.retention.cancelled.total_seconds(),
            job_type.retention.dead_letter.total_seconds(),
        ],
        **({} if job_type.audit_creation else {"audit_creation": False}),
        **({} if job_type.check_payload else {"check_payload": False}),
    }
    optional: dict[str, object] = {
        "lease": job_type.lease.total_seconds() if job_type.lease else None,
        "heartbeat": job_type.heartbeat or None,
        "concurrency": job_type.concurrency,
        "concurrency_per_key": job_type.concurrency_per_key,
        "rate": _rate_document(job_type.rate) if job_type.rate else None,
        "rate_per_key": _rate_document(job_type.rate_per_key) if job_type.rate_per_key else None,
        "resources": list(job_type.resources) or None,
        "weight": job_type.weight if job_type.weight != 1 else None,
        "weights": dict(job_type.weights) or None,
        "on_full": str(job_type.on_full) if job_type.on_full is not OnFull.WAIT else None,
        "batch": [job_type.batch.size, job_type.batch.wait.total_seconds()] if job_type.batch else None,
        "breaker": _breaker_document(job_type.breaker) if job_type.breaker else None,
        "webhook": _webhook_document(job_type.webhook) if job_type.webhook else None,
        "reported_fields": list(job_type.reported_fields) or None,
        "function": job_type.function,
        "schema": job_type.schema,
        "logs": job_type.logs,
    }
    return {**document, **{name: value for name, value in optional.items() if value is not None}}


def _type_of(name: str, document: dict[str, Any]) -> JobType:
    completed, cancelled, dead_letter = (timedelta(seconds=each) for each in document["retention"])
    return JobType(
        name=name,
        code=document["code"],
        timeout=timedelta(seconds=document["timeout"]),
        max_event_age=timedelta(seconds=document["max_event_age"]),
        lease=timedelta(seconds=document["lease"]) if "lease" in document else None,
        heartbeat=document.get("heartbeat", False),
        concurrency=document.get("concurrency"),
        concurrency_per_key=document.get("concurrency_per_key"),
        rate=_rate_of(document.get("rate")),
        rate_per_key=_rate_of(document.get("rate_per_key")),
        resources=tuple(document.get("resources", ())),
        weight=document.get("weight", 1),
        weights=document.get("weights", {}),
        on_full=OnFull(document.get("on_full", OnFull.WAIT)),
        batch=_batch_of(document.get("batch")),
        breaker=_breaker_of(document.get("breaker")),
        priority=Priority(document["priority"]),
        max_attempts=document["max_attempts"],
        retry=retry_of(document["retry"]),
        retention=Retention(completed=completed, cancelled=cancelled, dead_letter=dead_letter),
        webhook=_webhook_of(document.get("webhook")),
        audit_creation=document.get("audit_creation", True),
        check_payload=document.get("check_payload", True),
        schema=document.get("schema"),
        reported_fields=tuple(document.get("reported_fields", ())),
        function=document.get("function"),
        logs=document.get("logs"),
    )


def _webhook_document(webhook: Webhook) -> list[object]:
    return [webhook.url, [str(each) for each in webhook.events]]


def _webhook_of(document: tuple[str | None, list[str]] | None) -> Webhook | None:
    return None if document is None else Webhook(url=document[0], events=tuple(RunEvent(each) for each in document[1]))


def _batch_of(document: list[float] | None) -> Batch | None:
    return None if document is None else Batch(size=int(document[0]), wait=timedelta(seconds=document[1]))


def _breaker_document(breaker: CircuitBreaker) -> list[float]:
    lengths = (breaker.window, breaker.probe_after, breaker.longest_pause)
    return [breaker.failure_rate, breaker.min_runs, *(each.total_seconds() for each in lengths)]


def _breaker_of(document: list[float] | None) -> CircuitBreaker | None:
    if document is None:
        return None
    failure_rate, min_runs, *lengths = document
    window, probe_after, longest_pause = (timedelta(seconds=each) for each in lengths)
    return CircuitBreaker(
        failure_rate=failure_rate,
        min_runs=int(min_runs),
        window=window,
        probe_after=probe_after,
        longest_pause=longest_pause,
    )


def _rate_document(rate: Rate) -> list[float]:
    return [rate.count, rate.per.total_seconds()]


def _rate_of(document: list[float] | None) -> Rate | None:
    return None if document is None else Rate(int(document[0]), timedelta(seconds=document[1]))


def reservation_of(record: Record) -> Reservation:
    return Reservation(
        run_id=cast("str", record["run_id"]),
        since=from_text(cast("str", record["since"])),
        until=from_text(cast("str", record["until"])),
    )
