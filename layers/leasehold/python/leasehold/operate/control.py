"""Halt and pause: stop work on purpose, with who, when and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_of, check_audit_entry, retried, token_of
from leasehold.circuit_breaker.circuits import closed, closing
from leasehold.circuit_breaker.model import CIRCUIT_BREAKER
from leasehold.circuit_breaker.probes import tell_closed
from leasehold.kernel import partitions
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import to_text
from leasehold.kernel.partitions import awakened
from leasehold.kernel.registry import Switch
from leasehold.kernel.table import Delete, Equals, Exists, Put, request_token
from leasehold.kernel.type_options import type_scope
from leasehold.operate.registration import register

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record


def publish(registry: Registry, services: Services) -> None:
    """Say what is deployed; jobs that were held because their type was not are looked at."""
    token = request_token("publish", f"{services.random_source.bits(64):x}")
    register(registry, services.store, services.clock.now(), token=token)
    services.deployment.forget()


def halt(services: Services, *, reason: str) -> bool:
    """No enqueue and no claim from now on; running jobs finish, reads and heartbeats go on. False if halted before."""
    audit_entry = _audit_entry("control#halt", "halt", services, reason)

    def changes(now: Switches) -> list[Change] | None:
        return None if now.halt else [halted(_switch(audit_entry))]

    return _switched(audit_entry, changes, services)


def resume(services: Services, *, reason: str) -> bool:
    """Lift the halt and start what is due at once; False if there was none."""
    audit_entry = _audit_entry("control#halt", "resume", services, reason)

    def changes(now: Switches) -> list[Change] | None:
        return resumed(now.halt, _switch(audit_entry)) if now.halt else None

    return _switched(audit_entry, changes, services)


def pause(job_type: str, services: Services, *, reason: str) -> bool:
    """Claim no more jobs of one type, not even a probe of its circuit breaker. Enqueueing them goes on."""
    services.deployment.registry().job_type(parse_job_type(job_type))
    audit_entry = _audit_entry(f"control#type#{job_type}", "pause", services, reason)

    def changes(now: Switches) -> list[Change] | None:
        return None if job_type in now.pauses else [paused(job_type, _switch(audit_entry))]

    return _switched(audit_entry, changes, services)


def unpause(job_type: str, services: Services, *, reason: str) -> bool:
    """Lift a pause, or close a circuit; what waited is looked at at once."""
    has_breaker = services.deployment.settings_of(parse_job_type(job_type)).breaker is not None
    circuit = services.deployment.circuit(job_type, fresh=True)
    audit_entry, shards = (
        _audit_entry(f"control#type#{job_type}", "resume", services, reason),
        services.deployment.registry().shards,
    )

    def changes(now: Switches) -> list[Change] | None:
        if job_type in now.pauses:
            return unpaused(
                job_type, audit_entry.at, stamp=audit_entry.audit_entry_id, shards=shards, close_circuit=has_breaker
            )
        return (
            closing(job_type, audit_entry.at, stamp=audit_entry.audit_entry_id, shards=shards)
            if circuit is not None
            else None
        )

    lifted = _switched(audit_entry, changes, services)
    if lifted and circuit is not None:
        tell_closed(job_type, audit_entry.by, services)
    return lifted


def everything_stopped(services: Services) -> Switches:
    """What people have halted and paused, and the types that a circuit breaker has paused besides."""
    switches = services.deployment.switches(fresh=True)
    paused = dict(switches.pauses)
    registry = services.store.control.registry()
    for name in registry.types if registry else ():
        circuit = services.deployment.circuit(name)
        if circuit is not None and name not in paused:
            by, at, reason = CIRCUIT_BREAKER, circuit.opened_at, circuit.reason
            paused[name] = Switch(by=by, at=at, reason=reason, circuit=circuit)
    return replace(switches, pauses=paused)


def _switched(audit_entry: AuditEntry, changes: Callable[[Switches], list[Change] | None], services: Services) -> bool:
    """Make what a look at the switches asks for, with its record; False if that is nothing."""

    def attempt() -> bool | None:
        wanted = changes(services.store.control.switches())
        if wanted is None:
            return False
        return (
            services.store.audits.commit(wanted, services.store.audits.audit(audit_entry), token=token_of(audit_entry))
            or None
        )

    try:
        return retried(audit_entry.target, attempt, services)
    finally:
        services.deployment.forget()


def _audit_entry(target: str, action: str, services: Services, reason: str) -> AuditEntry:
    actor = services.identity.actor()
    reason = check_audit_entry("switch", actor, reason, services)
    return audit_entry_of(target, action, {}, services, by=actor, reason=reason)


def _switch(audit_entry: AuditEntry) -> Switch:
    return Switch(by=audit_entry.by, at=audit_entry.at, reason=audit_entry.reason)


def halted(switch: Switch) -> Put:
    """Stop everything, unless it is stopped already."""
    return Put(key=partitions.control(partitions.HALT), record=_switch_record(switch))


def resumed(seen: Switch, lifted: Switch) -> list[Change]:
    """Lift the halt that was seen, and have the stream start a poller for all that fell due meanwhile."""
    lift = Delete(key=partitions.control(partitions.HALT), conditions=(Equals("at", to_text(seen.at)),))
    return [
        lift,
        Put(key=partitions.control(partitions.RESUMED), record={**_switch_record(lifted), "wake": True}, conditions=()),
    ]


def paused(job_type: str, switch: Switch) -> Put:
    return Put(key=partitions.pause(job_type), record=_switch_record(switch))


def unpaused(job_type: str, now: datetime, *, stamp: str, shards: int, close_circuit: bool) -> list[Change]:
    """Lift a pause and wake the type's held jobs, or one could wait for ever."""
    lift = Delete(key=partitions.pause(job_type), conditions=(Exists("PK"),))
    also: list[Change] = [closed(job_type)] if close_circuit else []
    return [lift, awakened(type_scope(job_type), now, stamp, shards), *also]


def _switch_record(switch: Switch) -> Record:
    return {"by": switch.by, "at": to_text(switch.at), "reason": switch.reason}
