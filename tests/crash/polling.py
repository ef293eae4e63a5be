"""Scenarios of the poller: claim and dispatch, release, reap, hold."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from tests.crash.faults import INVOKE, Killed
from tests.crash.invariants import assert_at_rest
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario
from tests.crash.world import unreachable

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_PAST_EVERY_LEASE = timedelta(minutes=5)
_MINUTE = timedelta(minutes=1)


def poll(process: Process, _prepared: object, **options: Any) -> object:
    report = process.poller(**options).poll()
    # How often it had to look, and whose settling counted, is no promise.
    return {name: value for name, value in report.as_fields().items() if name not in {"scanned", "settled"}}


def _poll_small_pages(process: Process, _prepared: object) -> object:
    return poll(process, None, poll_limit=2)


def _poll_small_pages_without_handlers(process: Process, _prepared: object) -> object:
    return poll(process, None, poll_limit=2, deliver=unreachable)


def _poll_until_the_first_hand_over(process: Process, _prepared: object) -> object:
    """Its time is up while it has claimed two and handed over one."""
    handed_over: list[Handover] = []

    def deliver(handover: Handover) -> None:
        handed_over.append(handover)
        process.world.run(handover)

    poller = process.poller(deliver, poll_limit=2)
    report = poller.poll(should_stop=lambda: "time is up" if handed_over else None)
    return {name: value for name, value in report.as_fields().items() if name not in {"scanned", "settled"}}


def _poll_without_handlers(process: Process, _prepared: object) -> object:
    return poll(process, None, deliver=unreachable)


def _poll_with_answers_lost(process: Process, _prepared: object) -> object:
    def deliver(handover: Handover) -> None:
        process.world.run(handover)
        unreachable(handover)

    return poll(process, None, deliver=deliver)


def _three_due(world: World) -> None:
    for _ in range(3):
        world.enqueue()


def _two_for_one_seat(world: World) -> None:
    for _ in range(2):
        world.enqueue(job_type="limited")


def _never_reached(world: World) -> None:
    world.enqueue()
    world.claim()
    world.clock.advance(_PAST_EVERY_LEASE)


def _lost_in_the_handler(mode: str, **options: Any) -> Any:
    def prepare(world: World) -> str:
        job_id = world.enqueue(mode, **options)
        with suppress(Killed):
            world.run(world.claim())
        world.clock.advance(_PAST_EVERY_LEASE)
        return job_id

    return prepare


def _too_late(world: World) -> str:
    job_id = world.enqueue(start_by=world.clock.now() + _MINUTE, dedup_key="k")
    world.clock.advance(_MINUTE)
    return job_id


def _paused(world: World) -> None:
    world.enqueue()
    world.elsewhere.operator.pause("work", reason="a test")


def _held(world: World) -> None:
    _paused(world)
    world.elsewhere.poller().poll()


def _held_and_looked_at(world: World) -> None:
    _held(world)
    world.clock.advance(_MINUTE)


def _held_and_free_again(world: World) -> None:
    _held(world)
    _unpause(world)


def _unpause(world: World) -> None:
    world.elsewhere.operator.unpause("work")


def _ended_as(status: JobStatus) -> Any:
    def check(_world: World, end: Snapshot, job_id: str) -> None:
        assert end.jobs[job_id].status is status

    return check


def seats_can_be_had(world: World, _end: Snapshot, _prepared: object) -> None:
    """A seat that stayed taken for ever would let this one wait for ever."""
    world.clock.advance(_PAST_EVERY_LEASE)
    world.enqueue(job_type="limited")
    recover(world)
    assert_at_rest(world)


SCENARIOS = (
    Scenario(name="poll", prepare=_three_due, act=poll, calls=("UpdateItem", INVOKE) * 3),
    Scenario(
        name="poll a backlog",
        prepare=_three_due,
        act=_poll_small_pages,
        # The watch, then two jobs by one call, and the third by itself.
        calls=("UpdateItem", "BatchExecuteStatement", INVOKE, INVOKE, "UpdateItem", INVOKE, "DeleteItem"),
    ),
    Scenario(
        name="hand over a batch to nobody",
        prepare=_three_due,
        act=_poll_small_pages_without_handlers,
        calls=("BatchExecuteStatement", INVOKE, "UpdateItem", INVOKE, "UpdateItem"),
    ),
    Scenario(
        name="stop between a batch and its hand-overs",
        prepare=_three_due,
        act=_poll_until_the_first_hand_over,
        calls=("BatchExecuteStatement", INVOKE, "UpdateItem", "DeleteItem"),
    ),
    Scenario(
        name="poll at a concurrency limit",
        prepare=_two_for_one_seat,
        act=poll,
        calls=("TransactWriteItems", INVOKE, "UpdateItem", "UpdateItem"),
        check=seats_can_be_had,
    ),
    Scenario(
        name="hand over to nobody",
        prepare=_three_due,
        act=_poll_without_handlers,
        calls=("UpdateItem", INVOKE, "UpdateItem") * 3,
    ),
    Scenario(
        name="hand over with the answer lost",
        prepare=_three_due,
        act=_poll_with_answers_lost,
        calls=("UpdateItem", INVOKE) * 3,
    ),
    Scenario(
        name="reap a job that no handler was reached for", prepare=_never_reached, act=poll, calls=("UpdateItem",)
    ),
    Scenario(
        name="reap a lost worker's job", prepare=_lost_in_the_handler("die_once"), act=poll, calls=("UpdateItem",)
    ),
    Scenario(
        name="reap a lost worker's last attempt",
        prepare=_lost_in_the_handler("die_once", max_attempts=1, dedup_key="k"),
        act=poll,
        calls=("ExecuteTransaction",),
        check=_ended_as(JobStatus.DEAD_LETTER),
    ),
    Scenario(
        name="reap a job that was to be cancelled",
        prepare=_lost_in_the_handler("die_after_cancel", dedup_key="k"),
        act=poll,
        calls=("UpdateItem",),
        check=_ended_as(JobStatus.CANCELLED),
    ),
    Scenario(
        name="end a job that is too late to start",
        prepare=_too_late,
        act=poll,
        calls=("UpdateItem",) * 2,
        check=_ended_as(JobStatus.CANCELLED),
    ),
    Scenario(name="hold a paused job", prepare=_paused, act=poll, lift=_unpause, calls=("UpdateItem",) * 2),
    Scenario(name="park a paused scope", prepare=_held_and_looked_at, act=poll, lift=_unpause, calls=("UpdateItem",)),
    Scenario(name="admit a held job", prepare=_held_and_free_again, act=poll, calls=("UpdateItem", INVOKE)),
)
