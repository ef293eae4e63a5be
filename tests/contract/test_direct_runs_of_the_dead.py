"""Direct runs whose caller died, and jobs whose workers did: what was taken is free again when its time is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType
from leasehold.direct_runs.model import DirectRun, DirectRunLostError, DirectRunTimeoutError
from leasehold.kernel.type_options import type_scope
from leasehold.limits.seating import SeatHooks
from leasehold.telemetry import Event
from tests.contract.directly import DirectRunner, started, what_is_taken
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from tests.contract.world import World

BOTH = pytest.mark.parametrize(("job_type", "seats"), [("report", []), ("limited", [0, 1])])
MINUTE = timedelta(minutes=1)


@pytest.fixture
def direct(world: World) -> DirectRunner:
    return DirectRunner(world)


@BOTH
def test_what_a_caller_took_that_died_is_free_when_its_time_is_over_and_no_sooner(
    world: World, direct: DirectRunner, job_type: str, seats: list[int]
) -> None:
    slot = direct.reserve(job_type)
    assert what_is_taken(world, job_type) == (True, seats)
    jobs = [world.queue.enqueue(job_type).job_id for _ in range(2)]
    while world.clock.now() < slot.until:
        assert world.work() == []
        assert all(world.job(job_id).is_held for job_id in jobs)
        world.clock.advance(min(MINUTE, slot.until - world.clock.now()))

    # The scope was to be looked at then, so that is when they start.
    assert world.work() == ["completed", "completed"]
    assert world.store.lines.scope(type_scope(job_type)).seats == {}


@BOTH
def test_the_next_direct_run_takes_the_place_of_one_whose_caller_died(
    world: World, direct: DirectRunner, job_type: str, seats: list[int]
) -> None:
    slot = direct.reserve(job_type)
    world.clock.move_to(slot.until)

    direct.run(job_type)

    assert what_is_taken(world, job_type) == (False, [])
    # Should the dead come back, there is nothing that it could take away.
    standing = direct.reserve(job_type, "direct-of-a-third")
    slot.give_back()
    assert what_is_taken(world, job_type) == (True, seats)
    standing.give_back()


@BOTH
def test_after_an_answer_that_was_lost_everything_stays_reserved_until_the_run_is_over_for_certain(
    world: World, direct: DirectRunner, job_type: str, seats: list[int]
) -> None:
    direct.caller.failure = DirectRunLostError(job_type, "direct-1", "connection closed", "soon")

    with pytest.raises(DirectRunLostError, match=r"no answer came.*Whether it ran is not known.* handler's log"):
        direct.run(job_type)

    assert what_is_taken(world, job_type) == (True, seats)
    (run,) = direct.caller.called
    assert run.until >= world.clock.now() + world.types[job_type].timeout
    world.queue.enqueue(job_type)
    assert world.work() == []
    world.clock.move_to(run.until)
    # When a held job is looked at next, at the latest.
    world.clock.advance(MINUTE)
    assert world.work() == ["completed"]


def test_a_call_that_arrives_too_late_to_be_over_in_time_runs_nothing(world: World) -> None:
    now = world.clock.now()
    run = DirectRun(run_id="direct-1", job_type="limited", payload_text="{}", until=now + MINUTE)

    answer = world.worker.run_directly(run, remaining=MINUTE + timedelta(milliseconds=1))

    assert (answer.error_code, world.script.seen) == ("too_late", [])
    assert world.recorder.of(Event.DIRECT_RUN_STARTED) == []
    assert world.worker.run_directly(run, remaining=MINUTE).error is None


@pytest.mark.parametrize("job_type", ["report", "limited"])
def test_a_lost_workers_job_is_waited_for_until_its_lease_is_over(
    world: World, direct: DirectRunner, job_type: str
) -> None:
    job_id = world.queue.enqueue(job_type).job_id
    started(world, world.claim_one())
    until = world.job(job_id).lock_expires_at
    assert until is not None
    with pytest.raises(DirectRunTimeoutError):
        direct.run(job_type)
    direct.meanwhile(lambda: world.clock.move_to(until), world.poll, lambda: world.clock.advance(2 * MINUTE))

    direct.run(job_type, timeout=timedelta(minutes=30))

    assert world.status(job_id) is JobStatus.FAILED
    assert what_is_taken(world, job_type) == (False, [])


def test_a_seat_whose_holder_is_gone_is_taken_over(world: World, direct: DirectRunner) -> None:
    world.queue.enqueue("limited")
    attempt = started(world, world.claim_one())
    with pytest.MonkeyPatch.context() as patch:
        # It dies between the job's end and the end of its seat.
        patch.setattr(SeatHooks, "after", lambda *_: None)
        attempt.complete(None)
    assert what_is_taken(world, "limited") == (False, [0])
    world.clock.advance(world.types["limited"].longest_hold)

    direct.run("limited", timeout=timedelta(0))

    assert what_is_taken(world, "limited") == (False, [])


def test_jobs_in_seats_beyond_a_limit_that_was_lowered_are_waited_for(world: World, direct: DirectRunner) -> None:
    for _ in range(2):
        world.queue.enqueue("limited")
    first, second = [started(world, handover) for handover in world.claim()]
    others = [each for each in TYPES if each.name != "limited"]
    world.deploy(*others, JobType(name="limited", concurrency=1))
    direct.meanwhile(lambda: first.complete(None), lambda: None, lambda: second.complete(None))
    world.script.then(lambda _: str(world.status(second.job.job_id)))

    assert direct.run("limited") == "completed"


def test_jobs_that_were_claimed_before_there_was_a_limit_are_waited_for(world: World, direct: DirectRunner) -> None:
    job_id = world.queue.enqueue("report").job_id
    attempt = started(world, world.claim_one())
    world.deploy(*(replace(each, concurrency=1) if each.name == "report" else each for each in TYPES))
    direct.meanwhile(lambda: None, lambda: attempt.complete(None))
    world.script.then(lambda _: str(world.status(job_id)))

    assert direct.run("report") == "completed"


def test_more_jobs_than_one_page_of_the_index_are_looked_through(
    world: World, direct: DirectRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.direct_runs.records._PAGE", 2)
    for _ in range(5):
        world.queue.enqueue("email", run_in=timedelta(seconds=30))
    job_id = world.queue.enqueue("report").job_id
    attempt = started(world, world.claim_one())
    direct.meanwhile(*[lambda: None] * 3, lambda: attempt.complete(None))
    world.script.then(lambda _: str(world.status(job_id)))

    assert direct.run("report") == "completed"
