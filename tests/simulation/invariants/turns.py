"""What must hold of a group after each step: members in turn, none before all of them exist, ends counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.crash.group_invariants import assert_counted
from tests.simulation.invariants.violation import Violation, hold

if TYPE_CHECKING:
    from tests.simulation.mirror import Mirror


def members_of(group_id: str, group: dict[str, Any], mirror: Mirror) -> dict[int, dict[str, Any]]:
    """An id whose creation broke off may be used again: the members are those of the same moment."""
    return {
        job["member"]: job
        for job in mirror.jobs.values()
        if job.get("group_id") == group_id and job["scheduled_for"] == group["created_at"]
    }


def check_group(group_id: str, mirror: Mirror) -> None:
    group = mirror.items.get((f"group#{group_id}", "group"))
    if group is None or group.get("abandoned"):
        return
    members = members_of(group_id, group, mirror)
    running = sorted(number for number, job in members.items() if job["status"] == "in_progress")
    if group["state"] == "creating":
        hold(not running, "no member runs before all exist", f"{group_id}: {running}")
    if group["mode"] == "sequential":
        hold(len(running) <= 1, "members take turns", f"{group_id}: {running} run at once")
    ended = [job for job in members.values() if job["status"] in {"completed", "cancelled", "dead_letter"}]
    counted = sum("due_key" not in job for job in ended)
    told = sum(group.get(name, 0) for name in ("completed", "failed", "cancelled", "skipped"))
    hold(counted == told, "every end is counted once", f"{group_id}: {counted} ends, {told} counted")


def check_groups(mirror: Mirror) -> None:
    """What the crash tests demand of groups: turns, counts and callbacks."""
    if not any(key[1] == "group" for key in mirror.items):
        return
    now = mirror.snapshot()
    for group in now.groups.values():
        try:
            assert_counted(group, now)
        except AssertionError as error:
            raise Violation("groups count and take turns", f"{group.group_id}: {error}".partition("\n")[0]) from error
