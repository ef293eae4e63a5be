"""An open circuit and people: they close it, or make it a pause of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import JobStatus
from leasehold.circuit_breaker.circuits import circuit_key
from leasehold.telemetry import Event
from tests.contract.circuits import MINUTE, enqueue, open_circuit, run, wait_for_probe

if TYPE_CHECKING:
    from leasehold import JobContext
    from tests.contract.world import World


def test_lifting_the_pause_by_hand_closes_the_circuit_and_counts_anew(world: World) -> None:
    open_circuit(world)
    jobs = enqueue(world, 3)
    world.poll()

    assert world.operator.unpause("report")

    assert world.work() == ["completed"] * 3
    assert all(world.status(job_id) is JobStatus.COMPLETED for job_id in jobs)
    assert [each["by"] for each in world.recorder.of(Event.CIRCUIT_CLOSED)] == ["ada"]
    record = world.table.get(circuit_key("report"))
    assert record is not None
    assert (record["runs"], record["failures"]) == (3, 0)


def test_a_pause_by_hand_over_an_open_circuit_stays_until_it_is_lifted_by_hand(world: World) -> None:
    open_circuit(world)
    enqueue(world, 3)
    world.poll()
    wait_for_probe(world)
    (probe,) = world.claim()

    assert world.operator.pause("report", reason="they are at it")
    assert not world.operator.pause("report", reason="again")

    assert world.worker.run(probe) == "released"
    for _ in range(5):
        world.clock.advance(10 * MINUTE)
        assert world.work() == []
    pause = world.operator.switches().pauses["report"]
    assert (pause.by, pause.reason, pause.circuit) == ("ada", "they are at it", None)
    assert world.operator.unpause("report")
    assert world.work() == ["completed"] * 3


def test_a_probe_that_runs_when_somebody_pauses_the_type_does_not_lift_that_pause(world: World) -> None:
    open_circuit(world)
    wait_for_probe(world)

    def pauses_the_type(_context: JobContext) -> str:
        world.operator.pause("report", reason="they are at it")
        return "done"

    assert run(world, pauses_the_type) == ["completed"]

    pause = world.operator.switches().pauses["report"]
    assert (pause.by, pause.circuit) == ("ada", None)
