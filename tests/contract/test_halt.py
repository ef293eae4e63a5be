"""A system halt: nothing is accepted or started, what runs finishes, reads and heartbeats go on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, NewJob, Operator, Queue
from leasehold.kernel import partitions
from leasehold.kernel.errors import SystemHaltedError
from leasehold.kernel.registry import CACHE_FOR
from leasehold.kernel.services import Services
from leasehold.telemetry import HEARTBEAT, Event
from leasehold.testing import SeededRandomSource

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.ports import Handover
    from tests.contract.world import World

MESSAGE = "job worker paused due to system halt"


def test_nothing_is_enqueued_while_halted(world: World) -> None:
    assert world.operator.halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError, match="bad deploy"):
        world.queue.enqueue("report")
    with pytest.raises(SystemHaltedError):
        world.queue.enqueue("report", dedup_key="u1")
    with pytest.raises(SystemHaltedError):
        world.queue.enqueue_many([NewJob(job="report")])

    world.operator.resume()
    assert world.work() == []


def test_nothing_is_claimed_while_halted_and_all_of_it_afterwards(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.operator.halt(reason="bad deploy")

    report = world.poll()

    assert (report.stopped_by, report.claimed) == ("halt", 0)
    assert world.status(job_id) is JobStatus.PENDING
    assert world.operator.resume()
    assert world.work() == ["completed"]


def test_a_halted_poll_says_so_and_its_heart_still_beats(world: World) -> None:
    world.operator.halt(reason="bad deploy")

    world.poll()
    world.poll()

    told = world.recorder.of(Event.POLL_PAUSED)
    assert [each["message"] for each in told] == [MESSAGE, MESSAGE]
    assert (told[0]["by"], told[0]["reason"]) == ("ada", "bad deploy")
    assert world.recorder.total(HEARTBEAT) == 2


def test_a_running_job_finishes_while_halted(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> str:
        world.operator.halt(reason="bad deploy")
        return "done"

    world.script.then(work)

    assert world.work() == ["completed"]
    assert world.job(job_id).result == "done"


def test_a_hand_over_that_meets_a_halt_goes_back_and_uses_no_attempt(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    handover = world.claim_one()
    world.operator.halt(reason="bad deploy")

    assert world.worker.run(handover) == "released"

    job = world.job(job_id)
    assert (job.status, job.attempts) == (JobStatus.PENDING, 0)
    assert world.script.seen == []
    world.operator.resume()
    world.clock.advance(timedelta(minutes=1))
    assert world.work() == ["completed"]


def test_a_halt_in_the_middle_of_a_poll_stops_it_at_the_next_page(world: World) -> None:
    for _ in range(30):
        world.queue.enqueue("report")
    dispatch = world.dispatches.dispatch

    def halting(handover: Handover, function: str | None) -> None:
        dispatch(handover, function)
        if len(world.dispatches.handovers) == 3:
            world.operator.halt(reason="bad deploy")

    world.dispatches.dispatch = halting  # type: ignore[method-assign]

    report = world.poll()

    assert (report.stopped_by, report.claimed) == ("halt", 25)


def test_reads_and_cancels_go_on_while_halted(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.operator.halt(reason="bad deploy")

    assert world.job(job_id).status is JobStatus.PENDING
    assert world.operator.backlog().depth["report"] == 1
    assert world.queue.cancel(job_id, reason="not needed").job_ended


def test_a_halt_tells_who_when_and_why_and_a_second_one_changes_nothing(world: World) -> None:
    assert world.operator.halt(reason="bad deploy")
    halted_at = world.clock.now()
    world.clock.advance(timedelta(minutes=1))

    assert not Operator(world.services).halt(reason="me too")

    halt = world.operator.switches().halt
    assert halt is not None
    assert (halt.by, halt.at, halt.reason) == ("ada", halted_at, "bad deploy")
    assert [world.operator.resume(), world.operator.resume()] == [True, False]


def test_another_process_notices_a_halt_within_the_time_of_its_cache(world: World) -> None:
    other = Queue(Services(store=world.store, clock=world.clock, random_source=SeededRandomSource(999)))
    other.enqueue("report")
    world.operator.halt(reason="bad deploy")

    world.clock.advance(CACHE_FOR)

    assert timedelta(seconds=5) >= CACHE_FOR
    with pytest.raises(SystemHaltedError):
        other.enqueue("report")


def test_each_resume_asks_the_stream_for_a_poller(world: World) -> None:
    seen = []
    for _ in range(2):
        world.operator.halt(reason="bad deploy")
        world.clock.advance(timedelta(seconds=1))
        world.operator.resume()
        seen.append(world.table.get(partitions.control("resumed")))

    assert [each is not None and each["wake"] for each in seen] == [True, True]
    # The stream shows what has changed: two resumes leave two different records.
    assert seen[0] != seen[1]
