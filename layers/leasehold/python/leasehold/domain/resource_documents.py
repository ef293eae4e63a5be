"""What stands besides jobs, as JSON-ready documents: schedules, templates, groups. See documents.py."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.instants import to_text
from leasehold.domain.payload import shown_json
from leasehold.domain.recurrence import Cron, Every
from leasehold.domain.retry import Delays, Exponential, Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.group import Group
    from leasehold.domain.recurrence import Recurrence
    from leasehold.domain.retry import RetryPolicy
    from leasehold.domain.schedule import Schedule
    from leasehold.domain.template import Template

type Document = dict[str, object]


def schedule_document(schedule: Schedule, next_runs: Sequence[datetime] = ()) -> Document:
    return {
        "name": schedule.name,
        "job_type": schedule.job_type,
        "payload": shown_json(schedule.payload_text),
        **_recurrence(schedule.recurrence),
        "enabled": schedule.enabled,
        "paused": schedule.paused,
        "is_active": schedule.is_active,
        "missed": str(schedule.missed),
        "missed_window": schedule.missed_window.total_seconds(),
        "overlap": str(schedule.overlap),
        "origin": str(schedule.origin),
        "version": schedule.version,
        "created_by": schedule.created_by,
        "is_mirrored": schedule.is_mirrored,
        "next_runs": [to_text(each) for each in next_runs],
        **set_only(
            priority=None if schedule.priority is None else int(schedule.priority),
            template=schedule.template,
            last_triggered_at=time_text(schedule.last_triggered_at),
            last_job_id=schedule.last_job_id,
            mirror_error=schedule.mirror_error,
        ),
    }


def template_document(template: Template) -> Document:
    return {
        "name": template.name,
        "job_type": template.job_type,
        "payload": shown_json(template.payload_text),
        "version": template.version,
        "created_by": template.created_by,
        "created_at": to_text(template.created_at),
        **set_only(
            priority=None if template.priority is None else int(template.priority),
            max_attempts=template.max_attempts,
            retry=retry_document(template.retry) if template.retry else None,
            webhook=template.webhook,
            description=template.description,
        ),
    }


def group_document(group: Group) -> Document:
    return {
        **group.progress,
        "left": group.left,
        "mode": str(group.mode),
        "on_failure": str(group.on_failure),
        "created_at": to_text(group.created_at),
        "created_by": group.created_by,
        **set_only(
            reason=group.reason,
            ended_at=time_text(group.ended_at),
            callback=group.callback,
            callback_job_id=group.callback_job_id,
            turn=group.turn,
            expires_at=epoch(group.expires_at),
        ),
    }


def retry_document(policy: RetryPolicy) -> Document:
    match policy:
        case Exponential(base, cap, jitter):
            return {"kind": "exponential", "base": base.total_seconds(), "cap": cap.total_seconds(), "jitter": jitter}
        case Fixed(delay):
            return {"kind": "fixed", "delay": delay.total_seconds()}
        case Delays(delays):
            return {"kind": "delays", "delays": [delay.total_seconds() for delay in delays]}
        case _:
            assert_never(policy)


def _recurrence(recurrence: Recurrence) -> Document:
    match recurrence:
        case Every(interval):
            return {"every": interval.total_seconds()}
        case Cron(line, timezone, in_the_gap, when_repeated):
            return {
                "cron": line,
                "timezone": timezone,
                "in_the_gap": str(in_the_gap),
                "when_repeated": str(when_repeated),
            }
        case _:
            assert_never(recurrence)


def time_text(at: datetime | None) -> str | None:
    return None if at is None else to_text(at)


def epoch(seconds: int | None) -> str | None:
    return None if seconds is None else to_text(datetime.fromtimestamp(seconds, UTC))


def set_only(**values: object) -> Document:
    """What is unset is left out."""
    return {name: value for name, value in values.items() if value is not None}
