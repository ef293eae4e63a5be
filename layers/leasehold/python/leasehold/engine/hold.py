"""Hold: whether a type may run at all now; if not, where its jobs wait without being in anyone's way."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import hold_lane
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import HOLD, Write
from leasehold.engine.ports import make_stamp
from leasehold.engine.telemetry import Event
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Switches
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueJob

# How soon a scope with waiting jobs is looked at again when nothing wakes it before.
LOOK_AGAIN_AFTER = timedelta(minutes=1)
CIRCUIT_OPEN = "circuit open"
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no job of a type may run; `until` is when to look again, None if somebody will say so."""

    reason: str
    until: datetime | None = None
    # If this alone is the reason, one job may be let through as a probe.
    circuit: Circuit | None = None


def stop_of(job_type: str, switches: Switches, parts: Parts) -> Stop | None:
    """Why no job of this type may run, or None."""
    if job_type in switches.pauses:
        return Stop("paused")
    reserved_until = switches.reserved_until(job_type, parts.clock.now())
    if reserved_until is not None:
        return Stop("reserved", reserved_until)
    # Before a job waits for a deployment, make sure that it has not just happened: the registry is cached.
    if job_type not in parts.deployment.registry().types and (
        job_type not in parts.deployment.registry(fresh=True).types
    ):
        return Stop("not deployed")
    # Last: a probe passes by this reason and by no other.
    circuit = parts.deployment.circuit(job_type)
    if circuit is not None:
        return Stop(CIRCUIT_OPEN, circuit.probe_at, circuit)
    return None


def expect_held(scope: str, parts: Parts, *, look_at: datetime | None = None) -> bool:
    """Give a scope its due entry before the first job is held in it: at `look_at`, but soon in any case.

    A crash in between leaves a scope that is looked at for nothing, never a job that nobody looks at.
    """
    for _ in range(_TRIES):
        state = parts.store.holds.state(scope)
        if state.is_waiting and state.due_key is not None and state.empty_checks == 0:
            return True
        now = parts.clock.now()
        at = max(now, min(look_at or now + LOOK_AGAIN_AFTER, now + LOOK_AGAIN_AFTER))
        if parts.store.holds.expect(state, at, now, stamp=make_stamp(parts.chance)):
            return True
    return False


def hold(entry: DueJob, scope: str, why: str, parts: Parts) -> bool:
    """Move a due job to where it waits until its scope may run again; False if it is not what the index showed."""
    try:
        parts.store.jobs.advance(
            Write(
                job_id=entry.job_id,
                transition=HOLD,
                seen={"due_key": entry.due_key},
                values={"due_lane": hold_lane(scope, entry.priority)},
            )
        )
    except TransitionRefused:
        return False
    parts.telemetry.event(Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, scope=scope, reason=why)
    return True
