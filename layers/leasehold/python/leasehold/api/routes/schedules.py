"""Schedules: list and look at them, make, change and remove them, run them by hand."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import islice

from leasehold.admin.documents import page_document
from leasehold.api.answers import Answer
from leasehold.api.bodies import BackfillBody, NewScheduleBody, ReasonBody, ScheduleBody, options_of
from leasehold.api.operations import Call, route
from leasehold.api.requests import Paging, SchedulePreviewQuery, ScheduleQuery
from leasehold.aws.api_access import Role
from leasehold.documents import Document
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import to_text
from leasehold.kernel.times import instant
from leasehold.schedules.model import Plan, planned
from leasehold.schedules.recurrence import explain, slots_after, slots_between

# Each is a transaction, and the gateway waits for 30 s.
MAX_SLOTS = 200


@route("GET /api/schedules", Role.VIEWER, "SchedulePage")
def list_schedules(call: Call, query: Paging) -> Document:
    """List schedules by name, each with its next run."""
    return page_document(call.read.schedules(**dict(query)), partial(call.read.schedule, next_runs=1))


@route("POST /api/schedules", Role.ADMIN, "Schedule", statuses=(201,))
def create_schedule(call: Call, body: NewScheduleBody) -> Answer:
    """Run a job at every slot of a rate or a cron line."""
    return Answer(status=201, document=call.read.schedule(call.queue.schedules.create(**options_of(body))))


@route("GET /api/schedules/{name}", Role.VIEWER, "Schedule")
def get_schedule(call: Call, name: str, query: ScheduleQuery) -> Document:
    """One schedule with its next runs."""
    return call.read.schedule(name, next_runs=query.next_runs)


@route("GET /api/schedule-preview", Role.VIEWER, "SchedulePreview")
def preview_schedule(call: Call, query: SchedulePreviewQuery) -> Document:
    """A rate or a cron line in words, with its next runs; nothing is made."""
    every = None if query.every is None else timedelta(seconds=query.every)
    recurrence = planned("preview", Plan(every=every, cron=query.cron, timezone=query.timezone)).recurrence
    slots = islice(slots_after(recurrence, call.services.clock.now()), query.next_runs)
    return {"plan": explain(recurrence), "next_runs": [to_text(slot) for slot in slots]}


@route("PATCH /api/schedules/{name}", Role.ADMIN, "Schedule")
def update_schedule(call: Call, name: str, body: ScheduleBody) -> Document:
    """Change what is given, leave the rest."""
    return call.read.schedule(call.queue.schedules.update(name, **options_of(body)))


@route("DELETE /api/schedules/{name}", Role.ADMIN, "Deleted")
def delete_schedule(call: Call, name: str, body: ReasonBody) -> Document:
    """Remove a schedule; its jobs stay."""
    call.queue.schedules.delete(name, reason=body.reason)
    return {"name": name, "deleted": True}


@route("POST /api/schedules/{name}/pause", Role.OPERATOR, "Schedule")
def pause_schedule(call: Call, name: str, body: ReasonBody) -> Document:
    """Run no slots until it is resumed."""
    return call.read.schedule(call.queue.schedules.pause(name, reason=body.reason))


@route("POST /api/schedules/{name}/resume", Role.OPERATOR, "Schedule")
def resume_schedule(call: Call, name: str, body: ReasonBody) -> Document:
    """Go on with the next slot."""
    return call.read.schedule(call.queue.schedules.resume(name, reason=body.reason))


@route("POST /api/schedules/{name}/trigger", Role.OPERATOR, "Triggered")
def trigger_schedule(call: Call, name: str, body: ReasonBody) -> Document:
    """Run it once now; two calls within a minute make one job."""
    return {"job_id": call.queue.schedules.trigger(name, reason=body.reason)}


@route("POST /api/schedules/{name}/backfill", Role.OPERATOR, "Backfilled")
def backfill_schedule(call: Call, name: str, body: BackfillBody) -> Document:
    """Make the jobs of past slots that have none."""
    recurrence = call.queue.schedules.get(name).recurrence
    first, last = instant(body.start, what="start"), min(instant(body.end, what="end"), call.services.clock.now())
    slots = islice(slots_between(recurrence, first, last), MAX_SLOTS + 1)
    if sum(1 for _ in slots) > MAX_SLOTS:
        raise InvalidOptionError((body.start, body.end), f"these are more than {MAX_SLOTS} slots", "Backfill in parts.")
    return {"job_ids": list(call.queue.schedules.backfill(name, **dict(body)))}
