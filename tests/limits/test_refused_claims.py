"""A claim that was refused for one of the things that joined it: who may try again, and who may not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold import JobType
from leasehold.circuit_breaker.model import Circuit, CircuitBreaker
from leasehold.kernel.jobs import DueJob
from leasehold.limits.admission import Admission
from leasehold.testing import LeaseholdTest

A_MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(("failed", "is_sent"), [([0], False), ([1], True), ([0, 1], True)])
def test_a_probe_is_sent_once_a_poll_unless_it_was_its_seat_that_another_had(failed: list[int], is_sent: bool):
    world = LeaseholdTest(types=[JobType(name="frail", concurrency=2, breaker=CircuitBreaker())])
    world.queue.enqueue("frail")
    now = world.clock.now()
    (entry,) = world.services.store.jobs.due("1#0", now, limit=10).entries
    assert isinstance(entry, DueJob)
    circuit = Circuit(opened_at=now - A_MINUTE, reason="half of them failed", probe_at=now, wait=A_MINUTE)
    admission = Admission(world.services, None)
    limits = admission.limits_of("frail", None)
    admitted = admission.admitted(entry, limits, circuit)

    admitted.refused(failed)

    assert len(limits) == 1
    assert (admission.to_probe("frail", circuit) is None) is is_sent
