"""A schedule that wants all of its slots has a job for each that it has decided about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import to_text
from leasehold.schedules.model import Missed, Overlap
from leasehold.schedules.records import schedule_of
from leasehold.schedules.recurrence import slots_between
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.mirror import Mirror


def check_slots(old: dict[str, Any] | None, new: dict[str, Any] | None, mirror: Mirror) -> None:
    if old is None or new is None or old["cursor"] == new["cursor"] or old["version"] != new["version"]:
        return
    before, after = schedule_of(old), schedule_of(new)
    hold(after.cursor > before.cursor, "slots are decided once", f"{after.name} went back to {new['cursor']}")
    if after.missed is not Missed.ALL or after.overlap is not Overlap.ALLOW:
        return
    made = {job["scheduled_for"] for job in mirror.jobs.values() if job.get("schedule") == after.name}
    for slot in slots_between(before.recurrence, before.cursor, after.cursor):
        hold(to_text(slot) in made, "no slot is left out", f"{after.name} has no job for {to_text(slot)}")
