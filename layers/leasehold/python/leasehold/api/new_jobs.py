"""Jobs as a body asks for them, as the SDK takes them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from leasehold.client.queue import NewJob

if TYPE_CHECKING:
    from leasehold.api.bodies import MemberBody, NewJobBody
    from leasehold.domain.payload import Json


def member_of(body: MemberBody) -> NewJob:
    return NewJob(**_options(body))


def job_of(body: NewJobBody) -> NewJob:
    return NewJob(
        **_options(body),
        run_at=body.run_at,
        run_in=None if body.run_in is None else timedelta(seconds=body.run_in),
        dedup_key=body.dedup_key,
        dedup_window=None if body.dedup_window is None else body.dedup_window.window(),
    )


def _options(body: MemberBody) -> dict[str, Any]:
    return {
        "job": body.job_type,
        "payload": cast("Json", body.payload),
        "start_by": body.start_by,
        "priority": body.priority,
        "max_attempts": body.max_attempts,
        "concurrency_key": body.concurrency_key,
        "template": body.template_name,
        "retry": None if body.retry is None else body.retry.policy(),
        "webhook": body.webhook,
    }
