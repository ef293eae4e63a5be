"""No job appears that nobody asked for: each new one is one of those that its writer was to make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.domain.webhook import DELIVERY
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.invocation import Invocation
    from tests.simulation.mirror import Mirror


def check_insertion(job: dict[str, Any], writer: Invocation, mirror: Mirror) -> None:
    name = f"{job['job_type']} {job['job_id'][-6:]} by {writer}"
    if "schedule" in job:
        _check_slot(job, name, mirror)
        return
    if job["job_type"] == DELIVERY and "retry_of" not in job:
        hold(writer.role in {"handler", "poller", "operator", "sdk"}, "only ends are told of", name)
        return
    if '"group":{' in str(job["payload"]) and "group_id" not in job and "retry_of" not in job:
        return  # a callback: its group knows how many there are
    writer.made += 1
    hold(writer.made <= writer.makes, "nothing appears that nobody enqueued", f"{name}: {writer.made} jobs")


def _check_slot(job: dict[str, Any], name: str, mirror: Mirror) -> None:
    slot = (job["schedule"], job["scheduled_for"])
    same = [each for each in mirror.jobs.values() if (each.get("schedule"), each["scheduled_for"]) == slot]
    by_hand = [each for each in same if each.get("created_by", "system") != job.get("created_by", "system")]
    hold(len(same) - len(by_hand) == 1, "one job per schedule slot", f"{name}: {slot} has {len(same)}")
