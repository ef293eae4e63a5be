"""Probes: one job at a time finds out whether a type whose circuit is open works again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import JobType, Priority, Worker
from leasehold.circuit_breaker.circuits import circuit_key, circuit_of_type
from leasehold.kernel.poll import Poller
from leasehold.kernel.services import Services
from leasehold.kernel.type_options import type_scope
from leasehold.limits.scopes import awakened
from leasehold.telemetry import Event
from leasehold.testing import SeededRandomSource
from tests.contract.circuits import (
    BREAKER,
    FAILS,
    GUARDED,
    MINUTE,
    all_ended,
    circuit,
    enqueue,
    guard,
    open_circuit,
    outcomes,
    run,
    wait_for_probe,
)
from tests.contract.handlers import scripted

if TYPE_CHECKING:
    import pytest

    from leasehold.kernel.jobs import DuePage
    from tests.contract.world import World


GUARDED_SCOPE = type_scope(GUARDED.name)


def another_process(world: World) -> Services:
    """It shares nothing with the first but the table and the time."""
    return Services(
        store=world.store, clock=world.clock, random_source=SeededRandomSource(77), telemetry=world.recorder
    )


def test_no_job_runs_before_the_probes_time_and_one_runs_then(world: World) -> None:
    open_circuit(world)
    jobs = enqueue(world, 3)
    world.poll()

    world.clock.advance(BREAKER.probe_after - timedelta(milliseconds=4))
    assert world.claim() == []
    wait_for_probe(world)

    assert [handover.job_id for handover in world.claim()] == jobs[:1]
    world.clock.advance(MINUTE)
    assert world.claim() == []


def test_a_probe_that_completes_closes_the_circuit_and_all_held_jobs_run(world: World) -> None:
    open_circuit(world)
    jobs = enqueue(world, 5)
    world.poll()
    wait_for_probe(world)

    assert world.work() == ["completed"]

    assert world.operator.switches().pauses == {}
    assert world.table.get(circuit_key("report")) is None
    assert outcomes(world) == ["completed"]
    assert [each["by"] for each in world.recorder.of(Event.CIRCUIT_CLOSED)] == [f"probe {jobs[0]}"]
    assert world.work() == ["completed"] * 4


def test_a_job_that_falls_due_after_the_probes_time_is_the_probe(world: World) -> None:
    open_circuit(world)
    wait_for_probe(world)

    assert run(world, "done") == ["completed"]
    assert circuit(world) is None


def test_each_failing_probe_doubles_the_wait_up_to_the_longest(world: World) -> None:
    open_circuit(world)
    jobs = enqueue(world, 6)
    world.poll()
    waits = []

    for _ in range(3):
        wait_for_probe(world)
        world.script.then(FAILS)
        assert world.work() == ["failed"]
        found = circuit(world)
        assert found is not None
        assert found.probe is None
        waits.append(found.probe_at - world.clock.now())

    assert waits == [2 * MINUTE, 3 * MINUTE, 3 * MINUTE]
    assert outcomes(world) == ["failed"] * 3
    wait_for_probe(world)
    assert all_ended(world, jobs[3:])


def test_of_several_pollers_one_sends_the_probe(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second poll runs when the first has seen that a probe is due, and has not sent it yet."""
    open_circuit(world)
    jobs = enqueue(world, 4)
    world.poll()
    wait_for_probe(world)
    rival = Poller(another_process(world), world.dispatches, worker_id="another poller")
    claim, rivals = world.store.jobs.apply_with, [rival]

    def claim_late(*args: Any, **options: Any) -> None:
        if rivals:
            # Another look at the same scope: an end, or an operator, has asked for it.
            world.store.table.write(awakened(GUARDED_SCOPE, world.clock.now(), "asked", 1))
            rivals.pop().poll()
        claim(*args, **options)

    monkeypatch.setattr(world.store.jobs, "apply_with", claim_late)

    held = len(world.recorder.of(Event.JOB_HELD))

    handovers = world.claim()

    assert rivals == []
    assert len(world.recorder.of(Event.JOB_HELD)) == held, "what is held was held again"
    assert len(handovers) == 1
    assert handovers[0].token.startswith("another poller")
    found = circuit(world)
    assert found is not None
    assert found.probe == handovers[0].job_id
    assert world.worker.run(handovers[0]) == "completed"
    assert all_ended(world, jobs)


def test_once_a_probe_is_sent_the_jobs_behind_it_are_not_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_circuit(world)
    enqueue(world, 60)
    world.poll()
    wait_for_probe(world)
    held, lanes = world.store.listings.held, []

    def noted(scope: str, priority: Priority, **options: Any) -> DuePage:
        lanes.append(priority)
        return held(scope, priority, **options)

    monkeypatch.setattr(world.store.listings, "held", noted)

    assert len(world.claim()) == 1
    # One page of the lane that has jobs, and none of those behind it.
    assert lanes == [Priority.NORMAL]


def test_a_probe_takes_its_seat_and_waits_for_it_like_any_other(world: World) -> None:
    guard(world, JobType(name="report", breaker=BREAKER, retry=GUARDED.retry, concurrency=1))
    run(world, *[FAILS] * 3)
    first, other = enqueue(world, 2)
    (last,) = world.claim()
    world.script.then(FAILS)
    assert (last.job_id, world.worker.run(last)) == (first, "failed")
    wait_for_probe(world)

    (probe,) = world.claim()

    assert probe.job_id == other
    assert world.job(other).seat is not None
    assert world.worker.run(probe) == "completed"
    assert circuit(world) is None
    assert run(world, "done") == ["completed"]


def test_a_worker_that_read_the_circuit_before_the_probe_was_sent_still_starts_it(world: World) -> None:
    open_circuit(world)
    enqueue(world, 2)
    wait_for_probe(world)
    elsewhere = another_process(world)
    worker = Worker(elsewhere, {"report": scripted(world.script)}, worker_id="elsewhere", limit_time=False)
    cached = circuit_of_type("report", elsewhere)
    assert cached is not None
    assert cached.probe is None
    (probe,) = world.claim()

    assert worker.run(probe) == "completed"

    assert circuit(world) is None
