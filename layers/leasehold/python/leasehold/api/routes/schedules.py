"""Schedules: list and look at them, make, change and remove them, run them by hand."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from leasehold.admin.documents import page_document, schedule_view_document
from leasehold.api.answers import Answer, answered
from leasehold.api.bodies import BackfillBody, NewScheduleBody, ReasonBody, ScheduleBody
from leasehold.api.callers import Operation, asked_for
from leasehold.api.requests import Paging, SchedulePreviewQuery, ScheduleQuery
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import to_text
from leasehold.kernel.times import instant
from leasehold.schedules.explain import explain
from leasehold.schedules.model import Plan, planned
from leasehold.schedules.recurrence import slots_after, slots_between

if TYPE_CHECKING:
    from leasehold.admin.job_documents import Document
    from leasehold.api.bodies import SchedulePlan
    from leasehold.api.callers import Call
    from leasehold.schedules.model import Schedule

# Each is a transaction, and the gateway waits for 30 s.
MAX_SLOTS = 200


def list_schedules(call: Call) -> Answer:
    query = asked_for(Paging, call.query)
    page = call.read.schedules(limit=query.limit, cursor=query.cursor)
    return answered(page_document(page, schedule_view_document))


def create(call: Call) -> Answer:
    body = asked_for(NewScheduleBody, call.body)
    options = _options(body)
    job = options.pop("job")
    payload = options.pop("payload")
    made = call.queue.schedules.create(body.name, job, payload, **options, enabled=body.enabled, reason=body.reason)
    return Answer(status=201, document=_shown(made, call))


def show(call: Call) -> Answer:
    view = call.read.schedule(call.path["name"], next_runs=asked_for(ScheduleQuery, call.query).next_runs)
    return answered(schedule_view_document(view))


def preview(call: Call) -> Answer:
    query = asked_for(SchedulePreviewQuery, call.query)
    every = None if query.every is None else timedelta(seconds=query.every)
    recurrence = planned("preview", Plan(every=every, cron=query.cron, timezone=query.timezone)).recurrence
    slots = islice(slots_after(recurrence, call.services.clock.now()), query.next_runs)
    return answered({"plan": explain(recurrence), "next_runs": [to_text(slot) for slot in slots]})


def update(call: Call) -> Answer:
    body = asked_for(ScheduleBody, call.body)
    changed = call.queue.schedules.update(call.path["name"], **_options(body), enabled=body.enabled, reason=body.reason)
    return answered(_shown(changed, call))


def delete(call: Call) -> Answer:
    call.queue.schedules.delete(call.path["name"], reason=asked_for(ReasonBody, call.body).reason)
    return answered({"name": call.path["name"], "deleted": True})


def pause(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(_shown(call.queue.schedules.pause(call.path["name"], reason=reason), call))


def resume(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered(_shown(call.queue.schedules.resume(call.path["name"], reason=reason), call))


def trigger(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered({"job_id": call.queue.schedules.trigger(call.path["name"], reason=reason)})


def backfill(call: Call) -> Answer:
    body, name = asked_for(BackfillBody, call.body), call.path["name"]
    recurrence = call.read.schedule(name, next_runs=0).schedule.recurrence
    first, last = instant(body.start, what="start"), min(instant(body.end, what="end"), call.services.clock.now())
    slots = islice(slots_between(recurrence, first, last), MAX_SLOTS + 1)
    if sum(1 for _ in slots) > MAX_SLOTS:
        raise InvalidOptionError((body.start, body.end), f"these are more than {MAX_SLOTS} slots", "Backfill in parts.")
    made = call.queue.schedules.backfill(
        name, body.start, body.end, reason=body.reason, beyond_retention=body.beyond_retention
    )
    return answered({"job_ids": list(made)})


def _shown(schedule: Schedule, call: Call) -> Document:
    return schedule_view_document(call.read.view_of_schedule(schedule))


def _options(body: SchedulePlan) -> dict[str, Any]:
    return {
        "job": body.job_type,
        "payload": body.payload,
        "template": body.template,
        "every": None if body.every is None else timedelta(seconds=body.every),
        "cron": body.cron,
        "timezone": body.timezone,
        "on_dst_gap": body.on_dst_gap,
        "on_dst_overlap": body.on_dst_overlap,
        "missed": body.missed,
        "missed_window": None if body.missed_window is None else timedelta(seconds=body.missed_window),
        "overlap": body.overlap,
        "priority": body.priority,
    }


_ONE = "/api/schedules/{name}"


def _action(name: str, summary: str, act: Any, body: type = ReasonBody, answer: str = "Schedule") -> Operation:
    return Operation(
        method="POST",
        path=f"{_ONE}/{name}",
        name=f"{name}_schedule",
        summary=summary,
        act=act,
        body=body,
        answers={200: answer},
    )


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/schedules",
        name="list_schedules",
        summary="List schedules by name, each with its next run",
        act=list_schedules,
        query=Paging,
        answers={200: "SchedulePage"},
    ),
    Operation(
        method="POST",
        path="/api/schedules",
        name="create_schedule",
        summary="Run a job at every slot of a rate or a cron line",
        act=create,
        body=NewScheduleBody,
        answers={201: "Schedule"},
    ),
    Operation(
        method="GET",
        path=_ONE,
        name="get_schedule",
        summary="One schedule with its next runs",
        act=show,
        query=ScheduleQuery,
        answers={200: "Schedule"},
    ),
    Operation(
        method="GET",
        path="/api/schedule-preview",
        name="preview_schedule",
        summary="A rate or a cron line in words, with its next runs; nothing is made",
        act=preview,
        query=SchedulePreviewQuery,
        answers={200: "SchedulePreview"},
    ),
    Operation(
        method="PATCH",
        path=_ONE,
        name="update_schedule",
        summary="Change what is given, leave the rest",
        act=update,
        body=ScheduleBody,
        answers={200: "Schedule"},
    ),
    Operation(
        method="DELETE",
        path=_ONE,
        name="delete_schedule",
        summary="Remove a schedule; its jobs stay",
        act=delete,
        body=ReasonBody,
        answers={200: "Deleted"},
    ),
    _action("pause", "Run no slots until it is resumed", pause),
    _action("resume", "Go on with the next slot", resume),
    _action("trigger", "Run it once now; two calls within a minute make one job", trigger, answer="Triggered"),
    _action("backfill", "Make the jobs of past slots that have none", backfill, BackfillBody, "Backfilled"),
)
