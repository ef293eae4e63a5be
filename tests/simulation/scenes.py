"""Scenes: what a seed is directed to, so that a guard that is missing is missed soon."""

from __future__ import annotations

from typing import Any

from tests.simulation.faults import Fault
from tests.simulation.guards import SOURCES, Guard

_NO_SKEW: dict[str, Any] = {"skew": 0.0, "concurrency": None, "shards": 1}
_STALE: dict[str, Any] = {**_NO_SKEW, "rates": {Fault.STALE_INDEX: 0.5}, "stale_by": 10, "pollers": 3, "wakes": True}
# Handlers that stop for longer than their lease, and go on when another one has their job.
_ZOMBIES: dict[str, Any] = {
    **_NO_SKEW,
    "rates": {Fault.STALL: 0.1},
    "outlives": True,
    "work": 30.0,
    "calm_at": 150.0,
    "rush": 10.0,
    "types": ("plain",),
    "actions": ("plain",),
    "chores": (),
    "jobs": 4,
}
# People who do the same thing to the same few jobs at the same time.
_CROWD: dict[str, Any] = {
    **_NO_SKEW,
    "rates": {Fault.STALL: 0.05},
    "outlives": False,
    "latency": 0.2,
    "operators": 2,
    "producers": 1,
    "jobs": 4,
    "rush": 10.0,
    "types": ("plain",),
    "actions": ("plain",),
    "calm_at": 90.0,
}
# Calls that take so long that somebody always comes in between.
_SLOW: dict[str, Any] = {
    **_CROWD,
    "rates": {},
    "latency": 2.0,
    "outlives": True,
    "wakes": False,
    "chores": ("cancel",),
    "jobs": 3,
    "work": 0.5,
}
# Calls that join the same job at the same time.
_BURST: dict[str, Any] = {"actions": ("debounced",), "chores": (), "producers": 3, "operators": 0, "jobs": 6}
# Pollers that stop between what they read and what they write, while others go on.
_LAGGARDS: dict[str, Any] = {
    **_NO_SKEW,
    "rates": {Fault.STALL: 0.15},
    "outlives": True,
    "modes": ("fail_once",),
    "actions": ("plain",),
    "chores": (),
    "jobs": 4,
    "pollers": 3,
    "rush": 2.0,
    "work": 4.0,
    "wakes": True,
    "calm_at": 150.0,
}


def _zombie(*modes: str, **more: Any) -> dict[str, Any]:
    return {**_ZOMBIES, "modes": modes, **more}


def _crowd(*chores: str, **more: Any) -> dict[str, Any]:
    return {**_CROWD, "chores": chores, **more}


SCENES: dict[Guard, dict[str, Any]] = {
    Guard("claim", "due_key as seen"): {
        **_STALE,
        "types": ("plain",),
        "actions": ("plain", "delayed"),
        "chores": ("reschedule",),
        "operators": 2,
        "modes": ("snooze_once", "fail_once"),
        "jobs": 4,
    },
    Guard("claim", "may still start"): {"actions": ("starting_by",)},
    Guard("release", "locked_by as seen"): _zombie(
        "result", "busy", rates={Fault.STALL: 0.2, Fault.INVOKE_REFUSED: 0.5}, work=8.0
    ),
    Guard("start", "locked_by as seen"): _zombie("result", rates={Fault.INVOKE_TWICE: 0.6}),
    Guard("start", "may still start"): {"actions": ("starting_by",), "rates": {Fault.INVOKE_LATE: 0.8}},
    Guard("extend", "locked_by as seen"): _zombie("extend"),
    Guard("extend", "lock_expires_at is to come"): _zombie("extend"),
    Guard("extend", "lock_expires_at is not shortened"): {
        **_NO_SKEW,
        "rates": {Fault.ECHO: 0.5},
        "types": ("beating",),
        "actions": ("plain",),
        "work": 30.0,
    },
    Guard("complete", "locked_by as seen"): _zombie("result"),
    Guard("fail", "locked_by as seen"): _zombie("fail"),
    Guard("fail", "no cancel_requested"): _crowd("cancel", modes=("fail",), work=6.0),
    Guard("dead_letter", "locked_by as seen"): _zombie("permanent"),
    Guard("dead_letter", "no cancel_requested"): _crowd("cancel", modes=("permanent",), work=6.0),
    Guard("snooze", "locked_by as seen"): _zombie("snooze_once"),
    Guard("snooze", "no cancel_requested"): _crowd("cancel", modes=("snooze_once",), work=6.0),
    Guard("abort", "locked_by as seen"): _zombie("cancel"),
    Guard("cancel", SOURCES): _crowd("cancel", modes=("result",), work=0.5),
    Guard("cancel", "locked_by as seen"): {**_SLOW, "types": ("limited",), "modes": ("result",), "pollers": 2},
    Guard("request_cancel", SOURCES): _crowd("cancel", modes=("result",), rates={Fault.STALL: 0.2}, work=4.0),
    Guard("request_cancel", "has started_at"): _crowd(
        "cancel", modes=("fail",), rates={Fault.STALL: 0.15}, outlives=True, work=2.0, pollers=2
    ),
    Guard("expire", SOURCES): {**_STALE, "actions": ("starting_by",), "latency": 0.2, "jobs": 4, "chores": ("cancel",)},
    Guard("expire", "no last_attempt_at"): {
        **_STALE,
        "actions": ("starting_by",),
        "modes": ("fail_once", "snooze_once"),
        "types": ("plain",),
        "latency": 0.2,
        "jobs": 4,
        "work": 0.5,
    },
    Guard("expire", "no started_at"): {
        **_STALE,
        "actions": ("starting_by",),
        "modes": ("busy",),
        "types": ("plain",),
        "latency": 0.2,
        "jobs": 4,
        "work": 2.0,
    },
    # A poller whose clock is behind claims what another is about to give up as too late.
    Guard("expire", "locked_by as seen"): {
        **_SLOW,
        "actions": ("starting_by",),
        "types": ("limited",),
        "modes": ("result",),
        "chores": (),
        "skew": 6.0,
        "pollers": 3,
        "jobs": 4,
    },
    Guard("reap_failed", "no cancel_requested"): {**_SLOW, "modes": ("die_once",)},
    Guard("reap_dead", "no cancel_requested"): {**_SLOW, "modes": ("die_once",), "actions": ("last",)},
    Guard("hold", "due_key as seen"): {
        **_STALE,
        "types": ("limited",),
        "actions": ("plain", "delayed"),
        "chores": ("reschedule", "pause", "unpause"),
        "operators": 2,
        "modes": ("fail_once", "snooze_once"),
        "jobs": 4,
    },
    Guard("skip", "due_key as seen"): {**_LAGGARDS, "types": ("skipping",)},
    Guard("turn_away", "due_key as seen"): {**_LAGGARDS, "types": ("refusing",)},
    Guard("reschedule", "due_key as seen"): {**_SLOW, "chores": ("reschedule",), "modes": ("fail",), "pollers": 2},
    Guard("reschedule", "due_lane as seen"): {
        **_SLOW,
        "chores": ("reschedule", "move"),
        "types": ("limited",),
        "modes": ("busy",),
        "pollers": 2,
        "operators": 3,
    },
    Guard("take_turn", "priority as seen"): {
        **_SLOW,
        "chores": ("reprioritise",),
        "actions": ("grouped",),
        "operators": 3,
    },
    Guard("edit", "due_key as seen"): {**_SLOW, "chores": ("edit",), "modes": ("fail",), "pollers": 2, "operators": 3},
    Guard("edit", "due_lane as seen"): {
        **_SLOW,
        "chores": ("reprioritise", "pause", "unpause"),
        "types": ("double",),
        "modes": ("busy",),
        "pollers": 2,
        "operators": 3,
        "jobs": 4,
    },
    Guard("edit", "payload as seen"): {**_SLOW, "chores": ("edit",), "actions": ("delayed",), "operators": 3},
    Guard("debounce", "due_key as seen"): {**_SLOW, **_BURST},
    Guard("debounce", "due_lane as seen"): {**_SLOW, **_BURST, "types": ("limited",), "modes": ("busy",), "pollers": 3},
    Guard("settle_run", "due_key as seen"): {
        **_LAGGARDS,
        "types": ("plain",),
        "actions": ("hooked",),
        "modes": ("fail",),
    },
    Guard("settle", "due_key as seen"): {
        **_STALE,
        "rates": {Fault.STALE_INDEX: 0.3, Fault.STALL: 0.1},
        "actions": ("grouped",),
        "types": ("plain",),
        "latency": 0.2,
        "jobs": 2,
        "modes": ("result",),
    },
}

# What is implied by something else shows when both are gone.
# A reaper whose clock is ahead takes a lease for expired that its owner is about to extend.
_EXTENDED: dict[str, Any] = {
    **_SLOW,
    "modes": ("extend",),
    "skew": 6.0,
    "work": 18.0,
    "chores": (),
    "jobs": 4,
    "pollers": 3,
    "latency": 1.0,
}


def _of(transition: str, *names: str) -> tuple[Guard, ...]:
    return tuple(Guard(transition, name) for name in names)


TOGETHER: dict[tuple[Guard, ...], dict[str, Any]] = {
    _of("cancel", "locked_by as seen", "no started_at"): _crowd("cancel", modes=("result",), rates={Fault.STALL: 0.2}),
    _of("release", "locked_by as seen", "no started_at"): SCENES[Guard("release", "locked_by as seen")],
    _of("reap_unstarted", "locked_by as seen", "no started_at"): {**_SLOW, "skew": 60.0, "chores": (), "pollers": 2},
    _of("reap_failed", "due_key as seen", "lock_expires_at has passed"): _EXTENDED,
    _of("reap_dead", "due_key as seen", "lock_expires_at has passed"): {**_EXTENDED, "actions": ("last",)},
    _of("reap_cancelled", "due_key as seen", "lock_expires_at has passed"): {**_EXTENDED, "chores": ("cancel",)},
    _of("take_turn", SOURCES, "due_key as seen"): {
        **_SLOW,
        "chores": ("cancel",),
        "actions": ("grouped",),
        "operators": 3,
        "jobs": 2,
    },
}
