"""Trip: count how the runs of a type end, and open its circuit when too many of them fail.

It comes after the run's own end, which stands whatever becomes of this. A count that is lost in a crash is one of many:
the next run that ends sees the same rate, and opens the circuit in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.breaker import Circuit
from leasehold.domain.errors import StoreError
from leasehold.domain.instants import to_text
from leasehold.engine.probe import answer
from leasehold.engine.telemetry import CIRCUIT_OPEN, Event

if TYPE_CHECKING:
    from leasehold.domain.breaker import CircuitBreaker, Tally
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def after_run(job: Job, parts: Parts, *, failed: bool | None, probing: Circuit | None) -> None:
    """What a run's end means for its type's circuit; `failed` is None for an end that says nothing about the type."""
    breaker = parts.deployment.settings_of(job.job_type).breaker
    if breaker is None:
        return
    try:
        if probing is not None and answer(job.job_id, job.job_type, probing, parts, failed=failed):
            return
        if failed is not None:
            _count(job.job_type, breaker, parts, failed=failed)
    except StoreError as error:
        parts.telemetry.event(Event.TIDY_FAILED, job_id=job.job_id, what="circuit breaker", error=str(error))


def _count(job_type: str, breaker: CircuitBreaker, parts: Parts, *, failed: bool) -> None:
    tally = parts.store.circuits.count(job_type, parts.clock.now(), breaker.window, failed=failed)
    if tally is not None and breaker.opens_at(tally):
        _open(job_type, breaker, tally, parts)


def _open(job_type: str, breaker: CircuitBreaker, tally: Tally, parts: Parts) -> None:
    now = parts.clock.now()
    circuit = Circuit(
        opened_at=now,
        reason=f"{tally.failures} of {tally.runs} runs failed since {to_text(tally.since)}",
        probe_at=now + breaker.probe_after,
        wait=breaker.probe_after,
    )
    opened = parts.store.circuits.open(job_type, circuit, tally)
    parts.deployment.forget()
    if opened:
        parts.telemetry.event(
            Event.CIRCUIT_OPENED, job_type=job_type, reason=circuit.reason, probe_at=to_text(circuit.probe_at)
        )
        parts.telemetry.measure(CIRCUIT_OPEN, 1, job_type=job_type)
