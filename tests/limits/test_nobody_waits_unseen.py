"""Whatever others forget meanwhile, a lane with a job in it stands in a line that is looked at, and no longer."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, Priority
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.lanes import service_lanes
from leasehold.kernel.poll import Poller
from leasehold.kernel.transitions import HOLD
from leasehold.limits.admission import Admission, Waits
from leasehold.limits.lines import Moment
from leasehold.limits.scopes import Lane
from tests.contract.world import World
from tests.worlds import SpyTable

if TYPE_CHECKING:
    from leasehold.kernel.jobs import Write

SCOPE = "type:single"
A_SECOND = timedelta(seconds=1)
# No function that polls lives longer.
A_POLLERS_LIFE = 120


@pytest.fixture
def world() -> World:
    world = World(SpyTable())
    world.deploy(JobType(name="single", concurrency=1, timeout=timedelta(minutes=10)))
    world.poll()  # a new type is looked at once
    return world


class Died(BaseException):
    """The process is gone, whatever it was about to do."""


def test_a_process_that_stood_still_before_it_held_a_job_and_then_died_leaves_it_to_the_next_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.queue.enqueue("single")
    running = world.claim_one()
    second = world.queue.enqueue("single").job_id
    jobs, whole = world.store.jobs, world.store.jobs.apply
    other = Poller(world.services, world.dispatches, worker_id="other")

    def stand_still(write: Write) -> Any:
        if write.transition is not HOLD:
            return whole(write)
        monkeypatch.undo()
        world.worker.run(running)
        for _ in range(A_POLLERS_LIFE - 1):
            # Wakes look where features wait, and find the lane empty.
            other.poll(lanes=service_lanes(1))
            world.clock.advance(A_SECOND)
        whole(write)
        raise Died

    monkeypatch.setattr(jobs, "apply", stand_still)
    with pytest.raises(Died):
        world.poll()

    started = []
    for _ in range(10):
        world.clock.advance(timedelta(minutes=1))
        started += [handover.job_id for handover in world.claim()]
    assert started == [second]


def test_a_lane_that_was_called_empty_by_mistake_is_thought_of_when_the_next_seat_is_freed(world: World) -> None:
    """An index that lagged showed none of its jobs; the next look finds them, and fills the only seat again."""
    world.queue.enqueue("single")
    running = world.claim_one()
    for _ in range(3):
        world.queue.enqueue("single")
    world.poll()
    lines, moment = world.store.lines, Moment.of(world.services)
    (entry,) = lines.entries(SCOPE, limit=10)
    assert lines.note_empty(entry, moment)
    assert lines.look_at(lines.scope(SCOPE), moment.now + A_SECOND, moment, is_empty=True)
    world.worker.run(running)

    world.clock.advance(2 * A_SECOND)
    started = 0
    while handovers := world.claim():
        started += len(handovers)
        world.worker.run(handovers[0])
    assert started == 3


def test_a_poll_of_an_hour_joins_the_line_again_that_others_have_forgotten(world: World) -> None:
    world.queue.enqueue("single")
    world.claim_one()
    admission, lines = Admission(world.services, None), world.store.lines

    lane = world.job(world.queue.enqueue("single").job_id).due_lane
    assert lane is not None

    def wait() -> None:
        (due,) = world.store.jobs.due(lane, world.clock.now(), limit=10).entries
        assert isinstance(due, DueJob)
        assert isinstance(admission.admit(due, world.services.deployment.switches()), Waits)

    wait()
    (entry,) = lines.entries(SCOPE, limit=10)
    lines.leave(entry)
    lines.forget(lines.scope(SCOPE))
    world.clock.advance(timedelta(minutes=5))
    wait()

    assert [each.lane for each in lines.entries(SCOPE, limit=10)] == [entry.lane]
    assert lines.scope(SCOPE).is_looked_at


def test_a_limit_that_is_lowered_lets_nobody_start_while_as_many_run(world: World) -> None:
    world.deploy(JobType(name="many", concurrency=10))
    for _ in range(8):
        world.queue.enqueue("many")
    running = world.claim()
    assert len(running) == 8
    world.deploy(JobType(name="many", concurrency=2))
    for _ in range(2):
        world.queue.enqueue("many")

    for handover in running[:6]:
        world.worker.run(handover)
        assert world.claim() == []
    world.worker.run(running[6])

    assert len(world.claim()) == 1


def test_a_scope_that_was_full_once_is_forgotten_and_costs_nobody_a_write(world: World) -> None:
    for _ in range(3):
        world.queue.enqueue("single")
    while handovers := world.claim():
        for handover in handovers:
            world.worker.run(handover)
    for _ in range(20):
        world.clock.advance(timedelta(minutes=1))
        world.poll()

    assert not world.store.lines.scope(SCOPE).exists
    assert world.store.lines.entries(SCOPE, limit=10) == []


def test_a_poll_that_stood_still_after_it_saw_a_free_seat_chooses_that_one_and_the_claim_finds_out(
    world: World,
) -> None:
    """Read anew, the seats would all be taken: the poll fell over."""
    admission = Admission(world.services, None)
    seats, (limit,) = admission.seats, admission.limits_of_lane(Lane(priority=Priority.NORMAL, queue="single"))
    assert seats.plan(limit).room == 1
    world.queue.enqueue("single")
    world.claim_one()
    world.clock.advance(timedelta(minutes=1))

    (choice,) = seats.choose([limit])

    assert choice.number == 0
    assert seats.plan(limit).room == 0
