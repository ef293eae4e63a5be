"""What may become of a job in one write, and who may write it: the state machine once more, from the outside.

Nothing here reads the library's transition table: that is what is on trial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import Due, from_text
from leasehold.kernel.payload import PURGED
from tests.simulation.invariants.violation import Violation, hold

if TYPE_CHECKING:
    from tests.simulation.invocation import Invocation

type Record = dict[str, Any]

_ENDED = frozenset({"completed", "cancelled", "dead_letter"})
_SETTLED = frozenset({"due_lane", "due_key", "wake", "owed", "expires_at"})
_PURGED = frozenset({"payload", "runs", "last_error", "result", "artifacts", "trace", "payload_at", "payload_size"})
_MOVED = frozenset({"due_lane", "due_key", "wake", "priority", "payload", "max_attempts"})
_LEASE = ("locked_by", "locked_at", "lock_expires_at")


def check_transition(old: Record | None, new: Record | None, writer: Invocation) -> None:
    """Whether this writer may make this of the job."""
    if new is None:
        raise Violation("jobs stay", f"{_name(old)} was deleted by {writer}")
    if old is None:
        hold(new["status"] == "pending", "legal transitions", f"{_name(new)} begins as {new['status']}")
        hold("locked_by" not in new, "legal transitions", f"{_name(new)} begins with an owner")
        return
    _check_shape(old, new)
    match old["status"]:
        case "pending" | "failed":
            _check_waiting(old, new, writer)
        case "in_progress":
            _check_running(old, new, writer)
        case _:
            _check_ended(old, new, writer)


def _check_shape(old: Record, new: Record) -> None:
    is_running = new["status"] == "in_progress"
    for name in _LEASE:
        hold((name in new) == is_running, "a lease belongs to a running job", f"{_name(new)}: {name}")
    hold(is_running or "seat" not in new, "a seat belongs to a running job", _name(new))
    hold(is_running or new["status"] in _ENDED or "started_at" not in new, "started means running", _name(new))
    used, most = new.get("attempts", 0), new["max_attempts"]
    hold(used <= most, "attempts are bounded", f"{_name(new)}: {used} of {most}")
    before, after = old.get("runs", []), new.get("runs", [])
    if new["status"] not in _ENDED or old["status"] not in _ENDED:
        hold(after[: len(before)] == before, "runs are only appended", f"{_name(new)}: {before} became {after}")
        hold(len(after) <= len(before) + 1, "one run at a time", _name(new))


def _check_waiting(old: Record, new: Record, writer: Invocation) -> None:
    if new["status"] == "in_progress":
        _check_claim(old, new, writer)
    elif new["status"] == old["status"]:
        changed = _changed(old, new)
        if writer.role == "poller" and "owed" in changed:
            _check_settled_run(old, new, changed)
            return
        hold(changed <= _MOVED, "legal transitions", f"{_name(new)} waits, and {writer} changed {sorted(changed)}")
        if writer.role == "poller" and "due_lane" in old:
            hold(changed <= {"due_lane", "wake"}, "a poller only holds", f"{_name(new)}: {sorted(changed)}")
        if "due_lane" not in old and "due_lane" in new:
            hold(new["due_lane"].startswith(f"{old['priority']}#"), "a turn keeps its priority", _name(new))
    elif new["status"] in {"completed", "cancelled"}:
        by = {"poller"} if new["status"] == "completed" else {"poller", "operator", "sdk", "handler"}
        hold(writer.role in by, "legal transitions", f"{writer} made {_name(new)} {new['status']}")
        _check_sent_away(old, new, writer)
    else:
        raise Violation("legal transitions", f"{_name(old)} {old['status']} -> {new['status']} by {writer}")


def _check_settled_run(old: Record, new: Record, changed: set[str]) -> None:
    """What a failed run owed is done, and its next one comes when it would have come anyway."""
    hold(changed <= {"due_lane", "due_key", "wake", "owed"}, "a run is settled", f"{_name(new)}: {sorted(changed)}")
    due = Due.parse(old["due_key"]).afterwards
    hold(due is not None and new["due_key"] == due.key, "a run is settled", f"{_name(new)}: {old['due_key']}")


def _check_sent_away(old: Record, new: Record, writer: Invocation) -> None:
    if writer.role == "handler":
        hold("not started by" in new.get("cancel_reason", ""), "legal transitions", f"{_name(new)} by {writer}")
    elif writer.role != "poller" or "group_id" in old:
        return
    hold("last_attempt_at" not in old, "who has run is owed the next attempt", f"{_name(new)} by {writer}")
    _check_expired(old, new, writer)


def _check_expired(old: Record, new: Record, writer: Invocation) -> None:
    if "not started by" in new.get("cancel_reason", ""):
        is_too_late = "last_attempt_at" not in old and old.get("start_by", "~") <= new["completed_at"]
        hold(is_too_late and "started_at" not in old, "expired is too late", f"{_name(new)} by {writer}")


def _check_claim(old: Record, new: Record, writer: Invocation) -> None:
    name = _name(new)
    hold(writer.role == "poller", "legal transitions", f"{writer} claimed {name}")
    hold(new["locked_by"].startswith(f"{writer.worker_id}."), "a claim is its poller's own", f"{name} by {writer}")
    hold("due_lane" in old, "only who is let in runs", f"{name} was claimed before its turn")
    hold(Due.parse(old["due_key"]).afterwards is None, "what is owed is done first", f"{name} was claimed before")
    due_at, claimed_at = old["due_key"].partition("#")[0], new["locked_at"]
    # Whoever held it may have had a faster clock than whoever lets it run.
    is_time = from_text(due_at) <= from_text(claimed_at) + writer.tolerance
    hold(is_time, "nothing runs before its time", f"{name} is due {due_at} and was claimed {claimed_at}")
    if "last_attempt_at" not in old:
        start_by = old.get("start_by", "~")
        hold(start_by > new["locked_at"], "nothing starts too late", f"{name} was claimed after {start_by}")
    hold(new.get("attempts", 0) == old.get("attempts", 0), "attempts count starts", name)


def _check_running(old: Record, new: Record, writer: Invocation) -> None:
    name, is_started = _name(new), "started_at" in old
    is_mine = old["locked_by"].startswith(f"{writer.worker_id}.") or old["locked_by"] in writer.tokens
    is_orphan = writer.role == "poller" and old["lock_expires_at"] <= writer.clock_text
    asked = "cancel_requested" in old
    told = f"{name} of {old['locked_by']} {'started' if is_started else 'unstarted'}, by {writer}"
    match new["status"]:
        case "in_progress":
            _check_kept(old, new, writer, is_mine=is_mine)
            return
        case "pending" if is_started:
            is_legal = is_mine and writer.role == "handler" and not asked
        case "pending":
            is_legal = is_mine or is_orphan
        case "failed":
            is_legal = is_started and not asked and (is_mine or is_orphan)
        case "completed":
            is_legal = is_started and is_mine and writer.role == "handler"
        case "dead_letter":
            is_legal = not asked and (is_mine or is_orphan)
        case "cancelled" if is_started:
            is_legal = (is_mine and writer.role == "handler") or (is_orphan and asked)
        case "cancelled" if writer.role == "handler":
            is_legal = "last_attempt_at" not in old and old.get("start_by", "~") <= new["completed_at"]
        case "cancelled":
            is_legal = True  # an operator may, and so may a poller for a group; too late is looked at below
        case _:
            is_legal = False
    hold(is_legal, "no write from a lost lease", f"in_progress -> {new['status']}: {told}")
    _check_expired(old, new, writer)


def _check_kept(old: Record, new: Record, writer: Invocation, *, is_mine: bool) -> None:
    name, changed = _name(new), _changed(old, new)
    if "locked_by" in changed:
        hold(is_mine and "started_at" not in old, "one start per hand-over", f"{name} by {writer}")
        hold(new["locked_by"].startswith(f"{writer.worker_id}."), "a start is its own", f"{name} by {writer}")
        hold(new.get("attempts", 0) == old.get("attempts", 0) + 1, "attempts count starts", name)
        if "last_attempt_at" not in old:
            start_by = old.get("start_by", "~")
            hold(start_by > new["started_at"], "nothing starts too late", f"{name} started after {start_by}")
        return
    if "lock_expires_at" in changed:
        hold(is_mine, "no write from a lost lease", f"{name} was extended by {writer}")
        # Decided when? A heartbeat and its handler may both be under way, and a late one lands after its successor.
        decided_at = from_text(new["lock_expires_at"]) - writer.lease_length
        hold(from_text(old["lock_expires_at"]) > decided_at, "an expired lease is not extended", f"{name} by {writer}")
        has_grown = new["lock_expires_at"] > old["lock_expires_at"]
        hold(has_grown, "a lease is never shortened", f"{name} to {new['lock_expires_at']} by {writer}")
    if "cancel_requested" in changed:
        hold("started_at" in old, "who has not started is cancelled", f"{name} was asked to stop by {writer}")
    allowed = {"lock_expires_at", "due_key", "cancel_requested", "cancel_reason"}
    hold(changed <= allowed, "legal transitions", f"{name} runs, and {writer} changed {sorted(changed)}")


def _check_ended(old: Record, new: Record, writer: Invocation) -> None:
    name, changed = _name(new), _changed(old, new)
    hold(new["status"] == old["status"], "end states absorb", f"{name} {old['status']} -> {new['status']} by {writer}")
    hold(changed <= _SETTLED | _PURGED, "end states absorb", f"{name}: {writer} changed {sorted(changed)}")
    if changed & _PURGED:
        is_purged = writer.role == "operator" and new["payload"] == PURGED
        hold(is_purged, "end states absorb", f"{name}: {writer} changed {sorted(changed)}")
    if changed & {"due_lane", "due_key"}:
        is_settled = writer.role == "poller" and not new.get("due_lane", "").startswith("hold")
        hold(is_settled, "end states absorb", f"{name} was moved to {new.get('due_lane')} by {writer}")
    hold("due_key" in old or "due_key" not in new, "settled stays settled", f"{name} is due again by {writer}")


def _changed(old: Record, new: Record) -> set[str]:
    return {each for each in old.keys() | new.keys() if old.get(each) != new.get(each)}


def _name(record: Record | None) -> str:
    return f"{record['job_type']} {record['job_id'][-6:]}" if record else "no job"
