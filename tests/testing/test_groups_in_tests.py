"""Groups in users' tests: drain runs them to their end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.groups.model import GroupState
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import NonRetryableError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.type_options import OnFull
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that, raising

both_modes = pytest.mark.parametrize("mode", ["sequential", "parallel"])


def world_with_steps(**options) -> tuple[LeaseholdTest, list[object]]:
    """A queue, and the payloads that its handlers have seen."""
    seen: list[object] = []

    def see(context) -> None:
        seen.append(world.queue.get(context.job_id).payload)

    handlers = {"step": see, "tell": see, "broken": raising(NonRetryableError("broken"))}
    world = LeaseholdTest({name: handler_that(work) for name, work in handlers.items()}, **options)
    return world, seen


@both_modes
def test_drain_runs_a_group_to_its_end_and_then_its_callback(mode):
    world, seen = world_with_steps()
    steps = [NewJob(job="step", payload={"n": n}) for n in range(60)]

    group = world.queue.groups.create(steps, mode=mode, callback=NewJob(job="tell")).group
    drained = world.drain()

    assert drained["completed"] == 61
    assert seen[:60] == [{"n": n} for n in range(60)]
    ended = world.queue.groups.get(group.group_id)
    assert ended.state is GroupState.COMPLETED
    assert seen[60] == {"group": ended.progress}


@both_modes
def test_drain_sees_a_failed_group_to_its_end(mode):
    world, _ = world_with_steps()

    group_id = world.queue.groups.create([NewJob(job="broken"), NewJob(job="step")], mode=mode).group_id
    world.drain()

    assert world.queue.groups.get(group_id).state is GroupState.FAILED


def test_a_member_that_its_type_s_limit_turns_away_does_not_stop_the_drain():
    world = LeaseholdTest()
    ended = []

    def keep_the_only_seat(_context) -> None:
        group_id = world.queue.groups.create([NewJob(job="step") for _ in range(3)]).group_id
        world.drain()
        ended.append(world.queue.groups.get(group_id))

    limited = JobType(name="step", concurrency=1, on_full=OnFull.SKIP)
    world.register("step", handler_that(keep_the_only_seat), limited)
    world.queue.enqueue("step")

    world.drain()

    (group,) = ended
    assert (group.state, group.skipped) == (GroupState.COMPLETED, 3)


def test_an_inline_queue_runs_a_group_as_it_is_created():
    world, seen = world_with_steps(inline=True)

    group = world.queue.groups.create([NewJob(job="step", payload={"n": n}) for n in range(3)]).group

    assert len(seen) == 3
    assert world.queue.groups.get(group.group_id).state is GroupState.COMPLETED


def test_drain_until_idle_lets_the_clock_jump_to_a_member_s_next_try():
    world, _ = world_with_steps()
    tries = []

    def fail_once(_context) -> None:
        tries.append(world.clock.now())
        if len(tries) == 1:
            raise RuntimeError("not this time")

    world.register("flaky", handler_that(fail_once))
    group_id = world.queue.groups.create([NewJob(job="flaky"), NewJob(job="step")]).group_id

    world.drain()
    assert world.queue.groups.get(group_id).completed == 0
    world.drain(until_idle=True)

    assert world.queue.groups.get(group_id).state is GroupState.COMPLETED
    assert tries[1] - tries[0] >= timedelta(seconds=30)
