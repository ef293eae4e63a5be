"""Direct runs: a handler called without a job, after what runs and before what waits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus
from leasehold.direct_runs.model import DirectRunTimeoutError
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.services import Services
from leasehold.telemetry import Event
from tests.contract.directly import DirectRunner, started, what_is_taken
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.payload import Json
    from tests.contract.world import World

NOTHING: tuple[bool, list[int]] = (False, [])
# One without a concurrency limit, and one with two seats.
TYPES = pytest.mark.parametrize("job_type", ["report", "limited"])


@pytest.fixture
def direct(world: World) -> DirectRunner:
    return DirectRunner(world)


def enqueue(world: World, job_type: str, count: int) -> list[str]:
    """Enqueue jobs a millisecond apart, so that their order is known."""
    made: list[str] = []
    for _ in range(count):
        made.append(world.queue.enqueue(job_type).job_id)
        world.clock.advance(timedelta(milliseconds=1))
    return made


@TYPES
def test_a_direct_run_returns_the_handlers_result_and_leaves_nothing_behind(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    world.script.then({"words": 12})

    assert direct.run(job_type, {"n": 1}) == {"words": 12}

    assert stored_jobs(world.services) == []
    assert what_is_taken(world, job_type) == NOTHING
    ((run_id, attempt),) = world.script.seen
    assert (run_id, attempt) == (direct.caller.called[0].run_id, 1)


@TYPES
def test_running_jobs_of_the_type_are_waited_for_and_none_is_interrupted(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    jobs = enqueue(world, job_type, 2)
    first, second = [started(world, handover) for handover in world.claim()]
    at_the_run: list[JobStatus] = []
    direct.meanwhile(lambda: None, lambda: first.complete(None), lambda: None, lambda: second.complete('"done"'))
    world.script.then(lambda _: at_the_run.extend(map(world.status, jobs)))

    direct.run(job_type)

    assert at_the_run == [JobStatus.COMPLETED, JobStatus.COMPLETED]
    assert world.job(second.job.job_id).result == "done"
    assert what_is_taken(world, job_type) == NOTHING


@TYPES
def test_jobs_that_are_due_meanwhile_are_held_and_run_afterwards_in_order_at_once(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    made: list[str] = []

    def enqueue_and_poll(_: JobContext) -> Json:
        made.extend(enqueue(world, job_type, 2))
        assert world.claim() == []
        return None

    world.script.then(enqueue_and_poll)
    other = world.queue.enqueue("email").job_id
    (running,) = world.claim()
    direct.run(job_type)

    assert running.job_id == other
    assert {fields["reason"] for fields in world.recorder.of(Event.JOB_HELD)} == {"reserved"}
    assert [handover.job_id for handover in world.claim()] == made


def test_a_hand_over_that_is_on_its_way_goes_back_and_runs_right_after_the_direct_run(
    world: World, direct: DirectRunner
) -> None:
    job_id = world.queue.enqueue("report").job_id
    handover = world.claim_one()
    # It reaches its handler when everybody knows of the reservation.
    direct.meanwhile(lambda: None, lambda: world.worker.run(handover))
    world.script.then(lambda _: world.poll().held)

    assert direct.run("report") == 1

    job = world.job(job_id)
    assert (job.status, job.attempts, job.is_held) == (JobStatus.PENDING, 0, True)
    assert [seen for seen, _ in world.script.seen] == [direct.caller.called[0].run_id]
    assert world.work() == ["completed"]


def test_a_handler_that_still_remembers_a_reservation_looks_again_before_it_gives_a_job_back(
    world: World, direct: DirectRunner
) -> None:
    services = Services(store=world.store, clock=world.clock, random_source=world.services.random_source)
    slot = direct.reserve("limited")
    assert services.deployment.switches().reservations.keys() == {"limited"}
    slot.give_back()
    world.queue.enqueue("limited")

    attempt = Executor(services, worker_id="forgetful").begin(world.claim_one())

    assert isinstance(attempt, Attempt)


@TYPES
def test_two_direct_runs_of_one_type_come_one_after_the_other(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    first = direct.reserve(job_type)
    direct.meanwhile(lambda: None, first.give_back)

    direct.run(job_type)

    reserved = [fields["run_id"] for fields in world.recorder.of(Event.DIRECT_RUN_RESERVED)]
    assert reserved == ["direct-of-another", direct.caller.called[0].run_id]
    assert what_is_taken(world, job_type) == NOTHING


@TYPES
def test_a_direct_run_that_waits_in_vain_runs_nothing_says_for_what_and_changes_nothing(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    job_id = world.queue.enqueue(job_type).job_id
    attempt = started(world, world.claim_one())
    before = world.job(job_id)
    taken = what_is_taken(world, job_type)

    with pytest.raises(DirectRunTimeoutError, match=rf"waited 20 s for job.*{job_id}.* Nothing ran.* longer timeout"):
        direct.run(job_type, timeout=timedelta(seconds=20))

    assert not world.script.seen
    assert not direct.caller.called
    assert (world.job(job_id), what_is_taken(world, job_type)) == (before, taken)
    attempt.complete(None)
    world.queue.enqueue(job_type)
    assert world.work() == ["completed"]


def test_a_direct_run_that_waits_for_another_in_vain_names_it(world: World, direct: DirectRunner) -> None:
    direct.reserve("limited")

    with pytest.raises(DirectRunTimeoutError, match="another direct run, direct-of-another"):
        direct.run("limited", timeout=timedelta(seconds=1))

    assert what_is_taken(world, "limited") == (True, [0, 1])
