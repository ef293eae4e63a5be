"""Scenarios of operators who change the order of jobs, those that are held included."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.crash.scenario import Scenario, insistently

if TYPE_CHECKING:
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_MILLISECOND = timedelta(milliseconds=1)


def _in_line(world: World) -> list[str]:
    at = world.clock.now() + timedelta(hours=1)
    made = []
    for _ in range(3):
        made.append(world.enqueue(run_at=at))
        world.clock.advance(_MILLISECOND)
    return made


def _held(world: World) -> list[str]:
    made = _in_line(world)
    world.elsewhere.operator.pause("work", reason="wait")
    world.clock.advance(timedelta(hours=1))
    assert world.elsewhere.poller().poll().held == len(made)
    return made


def _two_held_and_one_to_come(world: World) -> list[str]:
    made = _held(world)
    made[2] = world.enqueue(run_in=timedelta(hours=1))
    return made


def _move(process: Process, jobs: list[str]) -> object:
    moved = process.queue.move(jobs[2], before=jobs[0])
    first = process.queue.get(jobs[0])
    assert moved.due is not None
    assert first.due is not None
    return moved.due.key < first.due.key, moved.priority, moved.is_held


def _unpause(world: World) -> None:
    world.elsewhere.operator.unpause("work")


def _in_the_old_order_or_the_new(world: World, _end: Snapshot, jobs: list[str]) -> None:
    order = [jobs.index(job_id) for job_id in world.executions if job_id in jobs]
    assert order in ([0, 1, 2], [2, 0, 1])


SCENARIOS = (
    Scenario(
        name="move a waiting job",
        prepare=_in_line,
        act=_move,
        again=insistently(_move),
        calls=("TransactWriteItems",),
        check=_in_the_old_order_or_the_new,
    ),
    Scenario(
        name="move a held job",
        prepare=_held,
        act=_move,
        again=insistently(_move),
        calls=("TransactWriteItems",),
        lift=_unpause,
        check=_in_the_old_order_or_the_new,
    ),
    Scenario(
        name="move a job next to a held one",
        prepare=_two_held_and_one_to_come,
        act=_move,
        again=insistently(_move),
        calls=("TransactWriteItems",),
        lift=_unpause,
        check=_in_the_old_order_or_the_new,
    ),
)
