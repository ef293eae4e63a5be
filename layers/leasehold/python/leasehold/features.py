"""Which features there are, and which jobs concern them. This is the only place that knows both kernel and features."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from leasehold.kernel.hooks import Feature, Features, Hooks

if TYPE_CHECKING:
    from leasehold.domain.job_type import JobType
    from leasehold.domain.limits import ConcurrencyPolicy
    from leasehold.engine.parts import Parts
    from leasehold.kernel.admission import Gate


def features() -> Features:
    return Features(_FEATURES)


def open_gate(services: Parts, policy: ConcurrencyPolicy | None) -> Gate:
    """Who decides about jobs that are not plain, for one poll; see kernel/admission.py."""
    opened = import_module("leasehold.limits.admission").Admission(services, policy)
    return cast("Gate", opened)


def check_payload(job_type: JobType, payload_text: str, services: Parts) -> None:
    """InvalidPayloadError for a new payload that its type's handler could not take; see schemas/check.py."""
    if job_type.schema is not None:
        import_module("leasehold.schemas.check").check_payload(job_type, payload_text, services)


def _load(module: str, name: str) -> Hooks:
    return cast("type[Hooks]", getattr(import_module(f"leasehold.{module}"), name))()


# In the order in which they are asked: groups come last, since who is counted there owes nobody else anything.
_FEATURES = (
    Feature(
        name="webhooks",
        load=partial(_load, "webhooks.deliver", "WebhookHooks"),
        concerns=lambda job, job_type: job.webhook is not None or job_type.webhook is not None,
    ),
    Feature(
        name="limits",
        load=partial(_load, "limits.freeing", "SeatHooks"),
        concerns=lambda job, _: job.seat is not None,
    ),
    Feature(
        name="circuit_breaker",
        load=partial(_load, "circuit_breaker.counts", "CircuitHooks"),
        concerns=lambda _, job_type: job_type.breaker is not None,
        concerns_start=lambda job_type: job_type.breaker is not None,
    ),
    Feature(
        name="groups",
        load=partial(_load, "groups.ends", "GroupHooks"),
        concerns=lambda job, _: job.group_id is not None,
    ),
)
