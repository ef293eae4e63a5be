"""A schedule as a record: its definition, which a deployment carries too, and what became of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

from leasehold.domain.due import Priority
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.recurrence import Cron, Every, InTheGap, WhenRepeated
from leasehold.domain.schedule import Missed, Origin, Overlap, Schedule

if TYPE_CHECKING:
    from leasehold.domain.recurrence import Recurrence
    from leasehold.store.table import Record


def definition_record(schedule: Schedule) -> Record:
    record: Record = {
        "job_type": schedule.job_type,
        "payload": schedule.payload_text,
        **_recurrence_record(schedule.recurrence),
        "enabled": schedule.enabled,
        "missed": str(schedule.missed),
        "missed_window": int(schedule.missed_window.total_seconds()),
        "overlap": str(schedule.overlap),
    }
    if schedule.priority is not None:
        record["priority"] = int(schedule.priority)
    if schedule.template is not None:
        record["template"] = schedule.template
    return record


def schedule_record(schedule: Schedule) -> Record:
    """All of a schedule but its place in the due index and its audit head, which every write sets anew."""
    optional: dict[str, Any] = {
        "paused": schedule.paused or None,
        "retired": schedule.retired or None,
        "last_triggered_at": to_text(schedule.last_triggered_at) if schedule.last_triggered_at else None,
        "last_job_id": schedule.last_job_id,
        "mirror_error": schedule.mirror_error,
        "mirror_again_at": to_text(schedule.mirror_again_at) if schedule.mirror_again_at else None,
    }
    return {
        **definition_record(schedule),
        "cursor": to_text(schedule.cursor),
        "origin": str(schedule.origin),
        "version": schedule.version,
        "mirrored_version": schedule.mirrored_version,
        "created_by": schedule.created_by,
        **{name: value for name, value in optional.items() if value is not None},
    }


def definition_of(name: str, record: Record) -> Schedule:
    read: dict[str, Any] = record
    return Schedule(
        name=name,
        job_type=read["job_type"],
        payload_text=read["payload"],
        recurrence=_recurrence_of(read),
        enabled=read["enabled"],
        missed=Missed(read["missed"]),
        missed_window=timedelta(seconds=read["missed_window"]),
        overlap=Overlap(read["overlap"]),
        priority=Priority(read["priority"]) if "priority" in read else None,
        template=read.get("template"),
    )


def schedule_of(record: Record) -> Schedule:
    read: dict[str, Any] = record
    return replace(
        definition_of(read["SK"], record),
        cursor=from_text(read["cursor"]),
        paused=read.get("paused", False),
        retired=read.get("retired", False),
        origin=Origin(read["origin"]),
        version=read["version"],
        created_by=read["created_by"],
        last_triggered_at=from_text(read["last_triggered_at"]) if "last_triggered_at" in read else None,
        last_job_id=read.get("last_job_id"),
        mirrored_version=read["mirrored_version"],
        mirror_error=read.get("mirror_error"),
        mirror_again_at=from_text(read["mirror_again_at"]) if "mirror_again_at" in read else None,
        audit_head=read.get("audit_head"),
        due_key=read.get("due_key"),
    )


def _recurrence_record(recurrence: Recurrence) -> Record:
    match recurrence:
        case Every(interval):
            return {"every": int(interval.total_seconds())}
        case Cron(line, timezone, in_the_gap, when_repeated):
            return {
                "cron": line,
                "timezone": timezone,
                "in_the_gap": str(in_the_gap),
                "when_repeated": str(when_repeated),
            }
        case _:
            assert_never(recurrence)


def _recurrence_of(read: dict[str, Any]) -> Recurrence:
    if "every" in read:
        return Every(timedelta(seconds=read["every"]))
    return Cron(read["cron"], read["timezone"], InTheGap(read["in_the_gap"]), WhenRepeated(read["when_repeated"]))
