"""Probes that are lost, late, or without an answer: another takes their place, and no job is lost with them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Snooze
from leasehold.kernel.errors import DispatchError
from tests.contract.circuits import (
    FAILS,
    GUARDED,
    MINUTE,
    all_ended,
    circuit,
    enqueue,
    open_circuit,
    outcomes,
    wait_for_probe,
)

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.ports import Handover
    from tests.contract.handlers import Step
    from tests.contract.world import World


def test_a_probe_whose_poller_died_before_the_hand_over_is_replaced_after_its_lease(world: World) -> None:
    open_circuit(world)
    jobs = enqueue(world, 3)
    world.poll()
    wait_for_probe(world)
    (lost,) = world.claim()

    world.clock.advance(GUARDED.full_lease)
    assert world.claim() == []
    world.clock.advance(MINUTE)
    (next_one,) = world.claim()

    assert next_one.job_id != lost.job_id
    assert world.worker.run(lost) == "released"
    assert world.worker.run(next_one) == "completed"
    assert circuit(world) is None
    assert all_ended(world, jobs)


def test_a_probe_whose_worker_died_is_a_failed_one(world: World) -> None:
    open_circuit(world)
    enqueue(world, 2)
    world.poll()
    wait_for_probe(world)
    world.script.then(KeyboardInterrupt())
    (probe,) = world.claim()
    with pytest.raises(KeyboardInterrupt):
        world.worker.run(probe)

    world.let_lease_expire(probe.job_id)
    world.poll()

    found = circuit(world)
    assert found is not None
    assert (found.wait, found.probe) == (2 * MINUTE, None)
    assert found.probe_at == world.clock.now() + 2 * MINUTE
    assert outcomes(world) == ["failed"]


@pytest.mark.parametrize("end", ["too late", FAILS], ids=["completes", "fails"])
def test_a_probe_that_was_replaced_decides_nothing_any_more(world: World, end: Step) -> None:
    """It prolonged its lease beyond its type's time, and completes when another has taken its place."""
    open_circuit(world)
    enqueue(world, 2)
    world.poll()
    wait_for_probe(world)
    (slow,) = world.claim()
    replaced: list[Handover] = []

    def outlives_its_place(context: JobContext) -> str:
        world.clock.advance(GUARDED.full_lease - timedelta(seconds=1))
        context.extend()
        wait_for_probe(world)
        replaced.extend(world.claim())
        if isinstance(end, BaseException):
            raise end
        return "too late"

    world.script.then(outlives_its_place)

    assert world.worker.run(slow) == ("completed" if end == "too late" else "failed")
    found = circuit(world)
    assert found is not None
    assert [handover.job_id for handover in replaced] == [found.probe]
    assert outcomes(world) == []


@pytest.mark.parametrize("step", [Snooze(7200), "not reached"], ids=["snoozed", "not reached"])
def test_a_probe_without_an_answer_is_followed_by_another_after_the_same_wait(world: World, step: object) -> None:
    open_circuit(world)
    jobs = enqueue(world, 3)
    world.poll()
    wait_for_probe(world)
    if step == "not reached":
        world.dispatches.failure = "throttled"
        assert world.poll().released == 1
        world.dispatches.failure = None
    else:
        world.script.then(step)  # type: ignore[arg-type]
        assert world.work() == ["snoozed"]

    found = circuit(world)
    assert found is not None
    assert (found.probe, found.wait, found.probe_at) == (None, MINUTE, world.clock.now() + MINUTE)
    assert outcomes(world) == ["no answer"]
    wait_for_probe(world)
    assert all_ended(world, jobs[1:])


def test_a_probe_that_a_halt_kept_from_starting_is_followed_by_another(world: World) -> None:
    open_circuit(world)
    enqueue(world, 1)
    wait_for_probe(world)
    (probe,) = world.claim()
    world.operator.halt(reason="bad deploy")

    assert world.worker.run(probe) == "released"

    world.operator.resume()
    found = circuit(world)
    assert found is not None
    assert found.probe is None
    world.clock.advance(MINUTE)
    assert world.work() == ["completed"]


def test_a_dispatcher_that_fails_and_delivers_all_the_same_loses_nothing(world: World) -> None:
    """The invoke's answer was lost: the poller takes the probe back, and the handler has it."""
    open_circuit(world)
    jobs = enqueue(world, 3)
    world.poll()
    wait_for_probe(world)

    def deliver(handover: Handover, function: str | None) -> None:
        world.worker.run(handover)
        raise DispatchError("no answer")

    dispatches, world.dispatches.dispatch = world.dispatches.dispatch, deliver  # type: ignore[method-assign]
    world.poll()
    world.dispatches.dispatch = dispatches  # type: ignore[method-assign]

    assert circuit(world) is None
    assert all_ended(world, jobs)
