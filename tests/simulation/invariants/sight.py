"""Nobody overwrites what it has not seen: a change of a waiting job is made of the job that its author read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.invocation import Invocation

_WAITING = ({"S": "pending"}, {"S": "failed"})
# What says when, where and with what a job will run.
_TOLD = ("due_key", "due_lane", "payload")


def check_sight(
    key: tuple[str, str], old: dict[str, Any] | None, new: dict[str, Any] | None, writer: Invocation
) -> None:
    """A poller holds what an index showed it, which may be old: for that there are other rules."""
    # A handler was given the job by its own start.
    if old is not None and new is not None and "seat" in old and "seat" not in new and writer.role != "handler":
        told = f"{new['job_id']['S'][-6:]}: {writer} ended a claim that it had not read, and its seat is lost"
        known = [items.get(key, {}).get("seat") for items in (writer.seen, writer.refused)]
        hold(old["seat"] in known, "who takes a job knows its seat", told)
    if old is None or new is None or old["status"] not in _WAITING or new["status"] not in _WAITING:
        return
    if writer.role == "poller" and "due_lane" in old:
        return
    seen = writer.seen.get(key, {})
    changed = [name for name in _TOLD if old.get(name) != new.get(name)]
    names = {*changed, "due_key"} if writer.role == "operator" else {"due_key", "priority"}
    if writer.role == "sdk" and "payload" in changed:
        names |= {*changed}  # a call of a burst, whose payload is the last one's
    for name in sorted(names):
        told = f"{new['job_id']['S'][-6:]}: {name} was {old.get(name)}, {writer} had read {seen.get(name)}"
        hold(old.get(name) == seen.get(name), "nobody overwrites what it has not seen", told)
