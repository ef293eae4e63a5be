"""Guards that another condition implies: taken away alone, they change nothing, and here is why.

What each reason rests on is itself an invariant that every seed checks after every step.
"""

from __future__ import annotations

from tests.simulation.guards import SOURCES, Guard

_RUNNING = "`locked_by as seen`: only a running job has an owner (invariant: a lease belongs to a running job)"
_TOKEN = (
    "`locked_by as seen`: a start puts its own nonce in the place of the token (invariant: one start per hand-over)"
)
_ENTRY = "`locked_by as seen` and `lock_expires_at has passed`: of one owner's lease, only an extension moves the entry"
_LEASE = "`due_key as seen`: entry and lease move together, and the reaper saw this lease expired"
_OWNER = "`due_key as seen`: another owner has another entry, as a due key never recurs while its job lives"
_HELD = "`due_key as seen`: only a hold changes the lane alone, and who holds the job once more puts it where it is"
_ENDED = "the writer saw it ended (invariant: end states absorb)"

IMPLIED: dict[Guard, str] = {
    **{
        Guard(transition, SOURCES): _RUNNING
        for transition in (
            "release",
            "start",
            "extend",
            "complete",
            "fail",
            "dead_letter",
            "snooze",
            "abort",
            "reap_unstarted",
            "reap_failed",
            "reap_dead",
            "reap_cancelled",
        )
    },
    Guard("release", "no started_at"): _TOKEN,
    Guard("cancel", "no started_at"): _TOKEN,
    Guard("hold", "due_lane as seen"): _HELD,
    Guard("expire", "start_by has passed"): "`start_by` never changes, and the writer compared it with the same now",
    Guard("reap_unstarted", "due_key as seen"): _TOKEN,
    Guard(
        "reap_unstarted", "locked_by as seen"
    ): "`due_key as seen` and `no started_at`: only a start changes the owner",
    Guard("reap_unstarted", "lock_expires_at has passed"): _LEASE,
    Guard("reap_unstarted", "no started_at"): _TOKEN,
    **{
        Guard(transition, name): why
        for transition in ("reap_failed", "reap_dead", "reap_cancelled")
        for name, why in (
            ("due_key as seen", _ENTRY),
            ("locked_by as seen", _OWNER),
            ("lock_expires_at has passed", _LEASE),
        )
    },
    Guard("reap_failed", "has started_at"): "`locked_by as seen`: who has started stays so as long as it is the owner",
    Guard("reap_cancelled", "has cancel_requested"): "`locked_by as seen`: a request to stop is never taken back",
    Guard("take_turn", "due_key as seen"): "`sources`: nobody else moves a member before its turn",
    Guard(
        "debounce", SOURCES
    ): "`due_key as seen`: a burst waits for a time to come, and a claim or an end moves its entry",
    Guard("settle", SOURCES): _ENDED,
    Guard(
        "settle_run", SOURCES
    ): "`due_key as seen`: only a failed run that owes something has its next time in its entry",
    Guard("resolve", SOURCES): "its letter was read (invariants: one dead letter per dead job, end states absorb)",
    Guard("purge", SOURCES): _ENDED,
    Guard("purge", "completed_at as seen"): f"{_ENDED}, and when it ended never changes",
    Guard("purge", "no owed"): f"{_ENDED} and owing nothing, and what has ended owes nothing anew",
}
