"""No job appears that nobody asked for.

A job of a slot, of a group's end or of a run's end is known by what it belongs to, whoever writes it. Each other one is
one of those that its writer was to make.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.groups.records import group_of
from leasehold.kernel.job import job_of
from leasehold.kernel.keys import from_text
from leasehold.kernel.type_options import DELIVERY
from leasehold.schedules.records import schedule_of
from leasehold.schedules.recurrence import slots_after
from leasehold.webhooks.model import delivery_id
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from tests.simulation.invocation import Invocation
    from tests.simulation.mirror import Mirror

_UNASKED = "nothing appears that nobody enqueued"


def check_insertion(job: dict[str, Any], writer: Invocation, mirror: Mirror) -> None:
    name = f"{job['job_type']} {job['job_id'][-6:]} by {writer}"
    if "schedule" in job:
        _check_slot(job, name, mirror, writer)
    elif job["job_type"] == DELIVERY and "retry_of" not in job:
        _check_delivery(job, name, mirror)
    elif is_callback(job) and "retry_of" not in job:
        _check_callback(job, name, mirror)
    else:
        writer.made += 1
        hold(writer.made <= writer.makes, _UNASKED, f"{name}: {writer.made} jobs")


def is_callback(job: dict[str, Any]) -> bool:
    return '"group":{' in str(job["payload"]) and "group_id" not in job


def _check_slot(job: dict[str, Any], name: str, mirror: Mirror, writer: Invocation) -> None:
    slot = (job["schedule"], job["scheduled_for"])
    same = [each for each in mirror.jobs.values() if (each.get("schedule"), each["scheduled_for"]) == slot]
    by_hand = [each for each in same if each.get("created_by", "system") != job.get("created_by", "system")]
    hold(len(same) - len(by_hand) == 1, "one job per schedule slot", f"{name}: {slot} has {len(same)}")
    hold(slot not in mirror.removed_slots, "one job per schedule slot", f"{name}: {slot} had one that was removed")
    schedule = mirror.items.get(("schedule", slot[0]))
    if schedule is None and writer.role == "operator":
        # A backfill was asked for while the schedule was there: who stalls meanwhile makes the past slots all the same.
        schedule = next(iter(reversed(mirror.plans.get(slot[0], ()))), None)
    hold(schedule is not None, _UNASKED, f"{name}: there is no schedule {slot[0]}")
    assert schedule is not None
    at = from_text(slot[1])
    plans = [schedule_of(each).recurrence for each in mirror.plans[slot[0]]]
    is_slot = any(next(slots_after(each, at - timedelta(milliseconds=1))) == at for each in plans)
    # A backfill may be faster than the poller with a slot that has just come.
    latest = max(schedule["cursor"], writer.clock_text) if writer.role == "operator" else schedule["cursor"]
    hold(is_slot and slot[1] <= latest, _UNASKED, f"{name}: {slot} is no slot that has come")


def _check_delivery(job: dict[str, Any], name: str, mirror: Mirror) -> None:
    """It tells of an end of a job that wants to be told of."""
    told = (job_of(each) for each in mirror.jobs.values() if "webhook" in each)
    hold(any(job["job_id"] in _deliveries_of(each) for each in told), _UNASKED, f"{name} tells of nothing")


def _deliveries_of(job: Job) -> set[str]:
    ids = {str(delivery_id(job.job_id, run, run.ended_at)) for run in job.runs}
    return ids if job.completed_at is None else {*ids, str(delivery_id(job.job_id, None, job.completed_at))}


def _check_callback(job: dict[str, Any], name: str, mirror: Mirror) -> None:
    """It is the one that the end of its group makes."""
    group_id = json.loads(job["payload"])["group"].get("group_id")
    group = mirror.items.get((f"group#{group_id}", "group"))
    is_made_by_it = group is not None and group_of(group).callback_job_id == job["job_id"]
    hold(is_made_by_it, _UNASKED, f"{name} is no callback of {group_id}")
