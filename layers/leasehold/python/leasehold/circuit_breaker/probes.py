"""Probe: let one job of a type through whose circuit is open, and take its end as the answer.

The claim and the note of who is the probe are one transaction, conditional on the circuit as it was seen: of several
pollers one sends a probe, and none is sent that nobody knows of. A probe that is never heard of again is replaced.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.circuit_breaker.circuits import circuit_key, circuit_of_type, known_circuit
from leasehold.circuit_breaker.model import Circuit, CircuitBreaker
from leasehold.kernel.errors import StoreError
from leasehold.kernel.hooks import Hooks
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import Equals, Update, request_token
from leasehold.telemetry import CIRCUIT_OPEN, Event

if TYPE_CHECKING:
    from leasehold.circuit_breaker.model import Tally
    from leasehold.kernel.end import Ending
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services


# A probe whose worker died is reaped first: that is an answer, too.
_LEFT_TO_THE_REAPER = timedelta(minutes=1)


def note_of(job_id: JobId, job_type: JobType, circuit: Circuit, services: Services) -> Update:
    """The part of the claim that makes this job the probe, unless somebody let one through since it was seen.

    If nothing is heard of it, the next is let through.
    """
    replaced_at = services.clock.now() + job_type.longest_hold + _LEFT_TO_THE_REAPER
    return Update(
        key=circuit_key(job_type.name),
        conditions=(Equals("probe_at", to_text(circuit.probe_at)),),
        sets={"probe": job_id, "probe_at": to_text(replaced_at)},
    )


def probed_by(job_id: JobId, job_type: str, services: Services) -> Circuit | None:
    """The open circuit that this job is the probe of."""
    circuit = circuit_of_type(job_type, services)
    if circuit is not None and circuit.probe != job_id:
        # It may have been sent since the circuit was read: that is cached.
        circuit = circuit_of_type(job_type, services, fresh=True)
    return circuit if circuit is not None and circuit.probe == job_id else None


def answer(job_id: JobId, job_type: str, circuit: Circuit, services: Services, *, failed: bool | None) -> bool:
    """The probe is over: close the circuit, or wait again; False if this job is not the probe any more.

    An end that says nothing about the type (`failed` is None) is followed by the next probe after the same wait.
    """
    circuits, clock = services.store.circuits, services.clock
    if failed is False:
        token = request_token("close", job_type, f"{services.random_source.bits(64):x}")
        shards = services.deployment.registry().shards
        was_probe = circuits.close(job_type, clock.now(), token=token, shards=shards, probe=job_id)
        if was_probe:
            tell_closed(job_type, f"probe {job_id}", services)
    else:
        breaker = services.deployment.settings_of(job_type).breaker or CircuitBreaker()
        wait = breaker.longer(circuit.wait) if failed else circuit.wait
        was_probe = circuits.put_off(job_type, job_id, clock.now() + wait, wait)
    services.deployment.forget()
    if was_probe:
        outcome = {False: "completed", True: "failed", None: "no answer"}[failed]
        services.telemetry.event(Event.CIRCUIT_PROBED, job_id=job_id, job_type=job_type, outcome=outcome)
    return was_probe


def give_up(handover: Handover, circuit: Circuit, services: Services) -> None:
    """The probe was not reached, or not allowed to start."""
    try:
        answer(handover.job_id, handover.job_type, circuit, services, failed=None)
    except StoreError as error:
        services.telemetry.event(Event.TIDY_FAILED, job_id=handover.job_id, what="probe", error=str(error))


def tell_closed(job_type: str, by: str, services: Services) -> None:
    services.telemetry.event(Event.CIRCUIT_CLOSED, job_type=job_type, by=by)
    services.telemetry.measure(CIRCUIT_OPEN, 0, job_type=job_type)


class CircuitHooks(Hooks):
    def stops_start(self, handover: Handover, services: Services) -> str | None:
        if probed_by(handover.job_id, handover.job_type, services) is not None:
            return None
        return None if circuit_of_type(handover.job_type, services) is None else "circuit open"

    def never_started(self, handover: Handover, services: Services) -> None:
        circuit = probed_by(handover.job_id, handover.job_type, services)
        if circuit is not None:
            give_up(handover, circuit, services)

    def after(self, end: Ending, services: Services) -> None:
        breaker = end.job_type.breaker
        # A job that is skipped or cancelled before a handler had started has no attempt behind it.
        if breaker is None or end.job.started_at is None:
            return
        if _answered(end, services) or end.failed is None:
            return
        name = end.job_type.name
        counted = services.store.circuits.count(name, end.at, breaker.window, failed=end.failed)
        if isinstance(counted, Circuit):
            # Opened since this process last looked, and this run may be the one that was let through.
            if counted.probe == end.job.job_id:
                answer(end.job.job_id, name, counted, services, failed=end.failed)
        elif counted is not None and breaker.opens_at(counted):
            _open(name, breaker, counted, services)


def _answered(end: Ending, services: Services) -> bool:
    """Whether this run was the probe of its type, as far as is known without asking, and was taken as the answer.

    A run that is not counted has nothing else to find out by whether it was the probe, so that asks.
    """
    job_id, name = end.job.job_id, end.job_type.name
    circuit = known_circuit(name, services) if end.failed is not None else probed_by(job_id, name, services)
    if circuit is None or circuit.probe != job_id:
        return False
    return answer(job_id, name, circuit, services, failed=end.failed)


def _open(job_type: str, breaker: CircuitBreaker, tally: Tally, services: Services) -> None:
    now = services.clock.now()
    circuit = Circuit(
        opened_at=now,
        reason=f"{tally.failures} of {tally.runs} runs failed since {to_text(tally.since)}",
        probe_at=now + breaker.probe_after,
        wait=breaker.probe_after,
    )
    opened = services.store.circuits.open(job_type, circuit, tally)
    services.deployment.forget()
    if opened:
        probe_at = to_text(circuit.probe_at)
        services.telemetry.event(Event.CIRCUIT_OPENED, job_type=job_type, reason=circuit.reason, probe_at=probe_at)
        services.telemetry.measure(CIRCUIT_OPEN, 1, job_type=job_type)
