"""Halt and pause: stop work on purpose, with who, when and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.breaker import CIRCUIT_BREAKER
from leasehold.domain.control import Switch
from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.job_type import parse_job_type
from leasehold.engine.probe import tell_closed
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from leasehold.domain.control import Registry, Switches
    from leasehold.engine.parts import Parts


def publish(registry: Registry, parts: Parts) -> None:
    """Say what is deployed; jobs that were held because their type was not are looked at."""
    token = request_token("publish", f"{parts.chance.bits(64):x}")
    parts.store.switchboard.publish(registry, parts.clock.now(), token=token)
    parts.deployment.forget()


def halt(parts: Parts, *, by: str, reason: str) -> bool:
    """No enqueue and no claim from now on; running jobs finish, reads and heartbeats go on. False if halted before."""
    changed = parts.store.switchboard.halt(_switch(parts, by, reason))
    parts.deployment.forget()
    return changed


def resume(parts: Parts) -> bool:
    """Lift the halt; False if there was none."""
    lifted = parts.store.switchboard.resume()
    parts.deployment.forget()
    return lifted is not None


def pause(job_type: str, parts: Parts, *, by: str, reason: str) -> bool:
    """Claim no more jobs of one type, not even a probe of its circuit breaker. Enqueueing them goes on."""
    parts.deployment.registry().job_type(parse_job_type(job_type))
    changed = parts.store.switchboard.pause(job_type, _switch(parts, by, reason))
    parts.deployment.forget()
    return changed


def unpause(job_type: str, parts: Parts, *, by: str) -> bool:
    """Lift a pause, or close a circuit; what waited is looked at at once."""
    now = parts.clock.now()
    token = request_token("unpause", parse_job_type(job_type), f"{parts.chance.bits(64):x}")
    has_breaker = parts.deployment.settings_of(job_type).breaker is not None
    circuit = parts.deployment.circuit(job_type, fresh=True)
    if circuit is not None and job_type not in parts.deployment.switches(fresh=True).pauses:
        lifted = parts.store.circuits.close(job_type, now, token=token)
    else:
        lifted = parts.store.switchboard.unpause(job_type, now, token=token, close_circuit=has_breaker)
    parts.deployment.forget()
    if lifted and circuit is not None:
        tell_closed(job_type, by, parts)
    return lifted


def everything_stopped(parts: Parts) -> Switches:
    """What people have halted and paused, and the types that a circuit breaker has paused besides."""
    switches = parts.deployment.switches(fresh=True)
    paused = dict(switches.pauses)
    registry = parts.store.switchboard.registry()
    for name in registry.types if registry else ():
        circuit = parts.deployment.circuit(name)
        if circuit is not None and name not in paused:
            by, at, reason = CIRCUIT_BREAKER, circuit.opened_at, circuit.reason
            paused[name] = Switch(by=by, at=at, reason=reason, circuit=circuit)
    return replace(switches, pauses=paused)


def _switch(parts: Parts, by: str, reason: str) -> Switch:
    if not by or not reason:
        raise InvalidOptionError((by, reason), "a halt or pause needs a name and a reason", "Pass by= and reason=.")
    return Switch(by=by, at=parts.clock.now(), reason=reason)
