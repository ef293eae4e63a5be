"""Groups: one after the other or side by side, counted exactly, with one end and one callback."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, NewJob, NonRetryableError, Priority, Registry, Skip
from leasehold.groups.model import KEPT_FOR, GroupNotFoundError, GroupState
from leasehold.kernel.errors import InvalidKeyError, InvalidOptionError, WrongStateError
from leasehold.kernel.keys import partition_of
from leasehold.telemetry import Event
from tests.contract.grouping import callbacks, counts, group, make, members, order_of_runs, run_out, states
from tests.contract.world import RETRY_DELAY

if TYPE_CHECKING:
    from tests.contract.world import World

both_modes = pytest.mark.parametrize("mode", ["sequential", "parallel"])


def test_the_members_of_a_sequential_group_run_one_after_the_other(world: World) -> None:
    make(world, 3)

    for done in range(3):
        assert states(world) == ["completed"] * done + ["waiting"] * (3 - done)
        assert world.work() == ["completed"]

    world.poll()
    assert order_of_runs(world) == [0, 1, 2]
    assert counts(world) == ("completed", 3, 0, 0, 0)


def test_the_members_of_a_parallel_group_are_let_in_at_once_in_their_order(world: World) -> None:
    make(world, 3, mode="parallel")

    handovers = world.claim()

    assert [world.job(each.job_id).member for each in handovers] == [0, 1, 2]
    for handover in reversed(handovers):
        world.worker.run(handover)
    world.poll()
    assert counts(world) == ("completed", 3, 0, 0, 0)


@both_modes
def test_the_end_makes_one_callback_that_is_told_how_it_went(world: World, mode: str) -> None:
    callback = NewJob(job="email", payload={"to": "ada"}, priority=Priority.HIGH, max_attempts=2)
    make(world, 3, mode=mode, on_failure="continue", callback=callback)
    world.script.then(None, NonRetryableError("broken"), Skip("nothing to do"))

    run_out(world)

    (told,) = callbacks(world)
    assert told.payload == {
        "to": "ada",
        "group": {
            "group_id": "import",
            "state": "failed",
            "total": 3,
            "completed": 1,
            "failed": 1,
            "cancelled": 0,
            "skipped": 1,
        },
    }
    assert (told.job_type, told.priority, told.max_attempts) == ("email", Priority.HIGH, 2)
    assert told.status is JobStatus.COMPLETED
    assert told.group_id is None
    assert group(world).callback_job_id == told.job_id
    assert len(world.recorder.of(Event.GROUP_ENDED)) == 1


def test_a_group_without_a_callback_makes_no_job(world: World) -> None:
    make(world, 1)

    assert run_out(world) == ["completed"]

    assert callbacks(world) == []
    assert group(world).callback_job_id is None


def test_a_callback_whose_type_is_gone_does_not_keep_the_group_from_ending(world: World) -> None:
    make(world, 1, callback=NewJob(job="email"))
    world.deploy(world.types["report"])

    assert run_out(world) == ["completed"]

    assert counts(world) == ("completed", 1, 0, 0, 0)
    (told,) = callbacks(world)
    assert told.status is JobStatus.PENDING


def test_a_member_that_is_tried_again_keeps_its_turn(world: World) -> None:
    make(world, 2)
    world.script.then(RuntimeError("not this time"))

    assert world.work() == ["failed"]
    assert world.work() == []
    world.clock.advance(RETRY_DELAY)
    assert run_out(world) == ["completed", "completed"]

    assert order_of_runs(world) == [0, 0, 1]


def test_a_cancelled_member_is_no_failure_and_the_next_one_runs(world: World) -> None:
    first = members_of_new(world, 3)[0]
    world.queue.cancel(first, reason="not needed")

    assert run_out(world) == ["completed", "completed"]

    assert counts(world) == ("completed", 2, 0, 1, 0)


def test_members_that_were_cancelled_before_their_turn_are_passed_by(world: World) -> None:
    ids = members_of_new(world, 40)
    for job_id in ids[1:39]:
        world.queue.cancel(job_id, reason="not needed")

    assert run_out(world) == ["completed", "completed"]

    assert order_of_runs(world) == [0, 39]
    assert counts(world) == ("completed", 2, 0, 38, 0)


def test_a_group_of_which_every_member_was_cancelled_is_completed(world: World) -> None:
    for job_id in members_of_new(world, 3)[::-1]:
        world.queue.cancel(job_id, reason="not needed")

    assert run_out(world) == []

    assert counts(world) == ("completed", 0, 0, 3, 0)


def test_what_becomes_of_a_dead_member_later_is_not_counted(world: World) -> None:
    make(world, 2, on_failure="continue")
    world.script.then(NonRetryableError("broken"))
    run_out(world)
    dead = members(world)[0].job_id
    before = group(world)

    redriven = world.operator.redrive(dead, reason="fixed").job_id
    again = world.queue.retry(dead).job_id
    assert run_out(world) == ["completed", "completed"]

    assert redriven is not None
    assert redriven != again
    assert [world.job(each).group_id for each in (again, redriven)] == [None, None]
    assert group(world) == before


def test_an_edited_member_runs_with_its_new_priority_when_its_turn_comes(world: World) -> None:
    second = members_of_new(world, 2)[1]
    world.queue.edit(second, priority=Priority.CRITICAL, payload={"n": 9})

    assert run_out(world) == ["completed", "completed"]

    job = world.job(second)
    assert (job.priority, job.payload) == (Priority.CRITICAL, {"n": 9})


@both_modes
def test_a_member_that_waits_for_its_group_cannot_be_run_by_hand(world: World, mode: str) -> None:
    make(world, 2, mode=mode)
    waiting = members(world)[1].job_id

    for call in (world.queue.reschedule, world.queue.retry):
        with pytest.raises(WrongStateError, match="waiting for its turn"):
            call(waiting)

    assert run_out(world) == ["completed", "completed"]


def test_a_member_that_was_not_started_in_time_is_cancelled_and_counted(world: World) -> None:
    late = world.clock.now() + timedelta(minutes=1)
    world.queue.groups.create(
        [NewJob(job="report"), NewJob(job="report", start_by=late), NewJob(job="report")], group_id="import"
    )
    world.clock.advance(timedelta(minutes=2))

    assert run_out(world) == ["completed", "completed"]

    assert counts(world) == ("completed", 2, 0, 1, 0)


@both_modes
def test_members_are_spread_over_the_shards_and_keep_their_order(world: World, mode: str) -> None:
    world.operator.publish(Registry(types=world.types, shards=3))
    made = make(world, 7, mode=mode, callback=NewJob(job="email"))

    run_out(world)

    assert [partition_of(job.job_id).shard for job in members(world)] == [0, 1, 2, 0, 1, 2, 0]
    assert [job.job_id for job in members(world)] == [made.member_id(number) for number in range(7)]
    assert order_of_runs(world)[:7] == list(range(7))
    assert counts(world) == ("completed", 7, 0, 0, 0)


def test_a_paused_type_holds_its_group_back_until_it_may_run(world: World) -> None:
    world.operator.pause("report", reason="the reports are wrong")
    make(world, 2)
    assert run_out(world) == []

    world.operator.unpause("report")
    world.clock.advance(timedelta(seconds=10))

    assert run_out(world) == ["completed", "completed"]


def test_progress_is_seen_while_the_group_runs(world: World) -> None:
    make(world, 4)
    world.work()
    world.work()
    world.poll()

    found = group(world)

    assert (found.state, found.completed, found.left, found.turn) == (GroupState.RUNNING, 2, 2, 2)


def test_an_ended_group_is_kept_for_a_month_and_then_forgotten(world: World) -> None:
    make(world, 1)
    run_out(world)

    found = group(world)

    assert found.ended_at == world.clock.now()
    assert found.expires_at == int((world.clock.now() + KEPT_FOR).timestamp())
    assert (found.due_key, found.turn) == (None, None)


def test_members_are_listed_by_number_a_page_at_a_time(world: World) -> None:
    make(world, 5)

    first = world.queue.groups.members("import", limit=2)
    second = world.queue.groups.members("import", start=first.next or 0, limit=2)
    last = world.queue.groups.members("import", start=second.next or 0, limit=2)

    assert [[job.member for job in page.jobs] for page in (first, second, last)] == [[0, 1], [2, 3], [4]]
    assert [page.next for page in (first, second, last)] == [2, 4, None]
    assert world.queue.groups.members("import", start=9).jobs == []


def test_groups_are_listed_the_newest_first(world: World) -> None:
    for name in ("first", "second", "third"):
        make(world, 1, group_id=name)
        world.clock.advance(timedelta(seconds=1))
    run_out(world)

    assert [each.group_id for each in world.queue.groups.list()] == ["third", "second", "first"]
    assert [each.group_id for each in world.queue.groups.list(limit=2)] == ["third", "second"]


def test_groups_cannot_be_listed_where_there_is_no_index_of_them(world: World) -> None:
    world.operator.publish(Registry(types=world.types, ended_index=False))

    with pytest.raises(InvalidOptionError, match="no ended index"):
        world.queue.groups.list()


def test_a_group_that_never_was_cannot_be_found(world: World) -> None:
    with pytest.raises(GroupNotFoundError, match="there is no group 'import'"):
        group(world)
    with pytest.raises(GroupNotFoundError):
        world.queue.groups.members("import")
    with pytest.raises(GroupNotFoundError):
        world.queue.groups.cancel("import", reason="why not")
    with pytest.raises(InvalidKeyError, match="a group's id is"):
        world.queue.groups.get("no#such")


@pytest.mark.parametrize("options", [{"start": -1}, {"limit": 0}, {"limit": 1001}, {"limit": True}], ids=str)
def test_a_page_has_sensible_bounds(world: World, options: dict[str, int]) -> None:
    with pytest.raises(InvalidOptionError, match="is a whole number from"):
        world.queue.groups.members("import", **options)


def members_of_new(world: World, count: int) -> list[str]:
    make(world, count)
    return [job.job_id for job in members(world)]
