"""Halt and pause: stop work on purpose, with who, when and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.audit.records import check_deed, deed_of, retried, token_of
from leasehold.circuit_breaker.circuits import closed, closing
from leasehold.circuit_breaker.probes import tell_closed
from leasehold.kernel import keys
from leasehold.kernel.due import to_text
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.jobs import awakened
from leasehold.kernel.records import request_token
from leasehold.kernel.registry import Switch
from leasehold.kernel.table import Delete, Equals, Exists, Put
from leasehold.kernel.type_options import CIRCUIT_BREAKER, type_scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.audit.records import Deed
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Parts
    from leasehold.kernel.table import Change, Record


def publish(registry: Registry, parts: Parts) -> None:
    """Say what is deployed; jobs that were held because their type was not are looked at."""
    token = request_token("publish", f"{parts.chance.bits(64):x}")
    parts.store.switchboard.publish(registry, parts.clock.now(), token=token)
    parts.deployment.forget()


def halt(parts: Parts, *, reason: str) -> bool:
    """No enqueue and no claim from now on; running jobs finish, reads and heartbeats go on. False if halted before."""
    deed = _deed("control#halt", "halt", parts, reason)

    def changes(now: Switches) -> list[Change] | None:
        return None if now.halt else [halted(_switch(deed))]

    return _switched(deed, changes, parts)


def resume(parts: Parts, *, reason: str) -> bool:
    """Lift the halt and start what is due at once; False if there was none."""
    deed = _deed("control#halt", "resume", parts, reason)

    def changes(now: Switches) -> list[Change] | None:
        return resumed(now.halt, _switch(deed)) if now.halt else None

    return _switched(deed, changes, parts)


def pause(job_type: str, parts: Parts, *, reason: str) -> bool:
    """Claim no more jobs of one type, not even a probe of its circuit breaker. Enqueueing them goes on."""
    parts.deployment.registry().job_type(parse_job_type(job_type))
    deed = _deed(f"control#type#{job_type}", "pause", parts, reason)

    def changes(now: Switches) -> list[Change] | None:
        return None if job_type in now.pauses else [paused(job_type, _switch(deed))]

    return _switched(deed, changes, parts)


def unpause(job_type: str, parts: Parts, *, reason: str) -> bool:
    """Lift a pause, or close a circuit; what waited is looked at at once."""
    has_breaker = parts.deployment.settings_of(parse_job_type(job_type)).breaker is not None
    circuit = parts.deployment.circuit(job_type, fresh=True)
    deed, shards = _deed(f"control#type#{job_type}", "resume", parts, reason), parts.deployment.registry().shards

    def changes(now: Switches) -> list[Change] | None:
        if job_type in now.pauses:
            return unpaused(job_type, deed.at, stamp=deed.deed_id, shards=shards, close_circuit=has_breaker)
        return closing(job_type, deed.at, stamp=deed.deed_id, shards=shards) if circuit is not None else None

    lifted = _switched(deed, changes, parts)
    if lifted and circuit is not None:
        tell_closed(job_type, deed.by, parts)
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


def _switched(deed: Deed, changes: Callable[[Switches], list[Change] | None], parts: Parts) -> bool:
    """Make what a look at the switches asks for, with its record; False if that is nothing."""

    def attempt() -> bool | None:
        wanted = changes(parts.store.switchboard.switches())
        if wanted is None:
            return False
        return parts.store.audits.commit(wanted, parts.store.audits.audit(deed), token=token_of(deed)) or None

    try:
        return retried(deed.target, attempt, parts)
    finally:
        parts.deployment.forget()


def _deed(target: str, action: str, parts: Parts, reason: str) -> Deed:
    actor = parts.identity.actor()
    check_deed("switch", actor, reason)
    return deed_of(target, action, {}, parts, by=actor, reason=reason)


def _switch(deed: Deed) -> Switch:
    return Switch(by=deed.by, at=deed.at, reason=deed.reason)


def halted(switch: Switch) -> Put:
    """Stop everything, unless it is stopped already."""
    return Put(key=keys.control(keys.HALT), record=_switch_record(switch))


def resumed(seen: Switch, lifted: Switch) -> list[Change]:
    """Lift the halt that was seen, and have the stream start a poller for all that fell due meanwhile."""
    lift = Delete(key=keys.control(keys.HALT), conditions=(Equals("at", to_text(seen.at)),))
    return [lift, Put(key=keys.control(keys.RESUMED), record={**_switch_record(lifted), "wake": True}, conditions=())]


def paused(job_type: str, switch: Switch) -> Put:
    return Put(key=keys.pause(job_type), record=_switch_record(switch))


def unpaused(job_type: str, now: datetime, *, stamp: str, shards: int, close_circuit: bool) -> list[Change]:
    """Lift a pause and wake the type's held jobs, or one could wait for ever."""
    lift = Delete(key=keys.pause(job_type), conditions=(Exists("PK"),))
    also: list[Change] = [closed(job_type)] if close_circuit else []
    return [lift, awakened(type_scope(job_type), now, stamp, shards), *also]


def _switch_record(switch: Switch) -> Record:
    return {"by": switch.by, "at": to_text(switch.at), "reason": switch.reason}
