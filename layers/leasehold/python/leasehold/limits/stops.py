"""Stops: whether a type may run at all now, whatever its limits say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Switches
    from leasehold.engine.parts import Parts

CIRCUIT_OPEN = "circuit open"


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
