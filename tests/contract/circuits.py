"""A job type with a circuit breaker, and runs of it that end as a test says."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobStatus, JobType
from leasehold.circuit_breaker.model import Circuit, CircuitBreaker
from leasehold.kernel.retry import Fixed
from leasehold.telemetry import Event
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from tests.contract.handlers import Step
    from tests.contract.world import World

MINUTE = timedelta(minutes=1)
BREAKER = CircuitBreaker(min_runs=4, window=5 * MINUTE, probe_after=MINUTE, longest_pause=3 * MINUTE)
# A failed job comes back long after everything that a test looks at.
GUARDED = JobType(name="report", breaker=BREAKER, retry=Fixed(timedelta(hours=8)), max_attempts=3)
FAILS = RuntimeError("no answer")


def guard(world: World, job_type: JobType = GUARDED) -> None:
    world.deploy(job_type, *[each for each in TYPES if each.name != job_type.name])


def run(world: World, *steps: Step) -> list[str]:
    """Run a job for each step, one after the other; returns how each hand-over went."""
    ended: list[str] = []
    for step in steps:
        world.script.then(step)
        world.queue.enqueue("report")
        ended += map(str, world.work())
    return ended


def open_circuit(world: World) -> None:
    guard(world)
    assert run(world, *[FAILS] * 4) == ["failed"] * 4
    assert circuit(world) is not None


def circuit(world: World) -> Circuit | None:
    pause = world.operator.switches().pauses.get("report")
    return pause.circuit if pause else None


def enqueue(world: World, count: int) -> list[str]:
    """Jobs a millisecond apart, so that their order is known."""
    made: list[str] = []
    for _ in range(count):
        made.append(world.queue.enqueue("report").job_id)
        world.clock.advance(timedelta(milliseconds=1))
    return made


def wait_for_probe(world: World) -> None:
    """Let time pass until the next probe may run."""
    found = circuit(world)
    assert found is not None
    world.clock.move_to(max(found.probe_at, world.clock.now()))


def outcomes(world: World) -> list[object]:
    """How the probes ended so far."""
    return [each["outcome"] for each in world.recorder.of(Event.CIRCUIT_PROBED)]


def all_ended(world: World, jobs: list[str]) -> bool:
    """Whether these jobs are completed once the circuit has had the time to close."""
    for _ in range(8):
        world.work()
        world.clock.advance(MINUTE)
    return [world.status(job_id) for job_id in jobs] == [JobStatus.COMPLETED] * len(jobs)
