"""Counts: how the runs of a type end, and opening its circuit when too many of them fail.

It comes after the run's own end, which stands whatever becomes of this. A count that is lost in a crash is one of many:
the next run that ends sees the same rate, and opens the circuit in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.breaker import Circuit
from leasehold.domain.instants import to_text
from leasehold.engine.probe import answer, give_up, probed_by
from leasehold.engine.telemetry import CIRCUIT_OPEN, Event
from leasehold.kernel.hooks import Hooks

if TYPE_CHECKING:
    from leasehold.domain.breaker import CircuitBreaker, Tally
    from leasehold.domain.handover import Handover
    from leasehold.engine.parts import Parts
    from leasehold.kernel.hooks import End


class CircuitHooks(Hooks):
    def stops_start(self, handover: Handover, services: Parts) -> str | None:
        if probed_by(handover.job_id, handover.job_type, services) is not None:
            return None
        return None if services.deployment.circuit(handover.job_type) is None else "circuit open"

    def never_started(self, handover: Handover, services: Parts) -> None:
        circuit = probed_by(handover.job_id, handover.job_type, services)
        if circuit is not None:
            give_up(handover, circuit, services)

    def after(self, end: End, services: Parts) -> None:
        breaker = end.job_type.breaker
        if breaker is None or not end.is_of_a_run:
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


def _answered(end: End, services: Parts) -> bool:
    """Whether this run was the probe of its type, as far as is known without asking, and was taken as the answer.

    A run that is not counted has nothing else to find out by whether it was the probe, so that asks.
    """
    job_id, name = end.job.job_id, end.job_type.name
    circuit = services.deployment.known_circuit(name) if end.failed is not None else probed_by(job_id, name, services)
    if circuit is None or circuit.probe != job_id:
        return False
    return answer(job_id, name, circuit, services, failed=end.failed)


def _open(job_type: str, breaker: CircuitBreaker, tally: Tally, services: Parts) -> None:
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
        services.telemetry.event(
            Event.CIRCUIT_OPENED, job_type=job_type, reason=circuit.reason, probe_at=to_text(circuit.probe_at)
        )
        services.telemetry.measure(CIRCUIT_OPEN, 1, job_type=job_type)
