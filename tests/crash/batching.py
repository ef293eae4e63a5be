"""Scenarios of batches: several jobs of a type in one invocation, each with a lease, a run and an end of its own."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from tests.crash.faults import INVOKE, Killed
from tests.crash.polling import poll
from tests.crash.scenario import Scenario
from tests.crash.world import BATCH, unreachable

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_PAST_EVERY_LEASE = timedelta(minutes=5)


def _due(*modes: str) -> Any:
    def prepare(world: World) -> list[str]:
        return [world.enqueue(mode, "together") for mode in modes]

    return prepare


def _claimed(*modes: str) -> Any:
    def prepare(world: World) -> list[Handover]:
        _due(*modes)(world)
        world.claim()
        return list(world.handovers)

    return prepare


def _died_in_the_handler(world: World) -> list[str]:
    """One took its worker, and so the others, with it."""
    job_ids: list[str] = _due("result", "die_once", "result")(world)
    world.claim()
    with suppress(Killed):
        world.run_batch(list(world.handovers))
    world.clock.advance(_PAST_EVERY_LEASE)
    return job_ids


def _run(process: Process, handovers: list[Handover]) -> object:
    return sorted(process.worker.run_batch(handovers).values())


def _poll_without_handlers(process: Process, _prepared: object) -> object:
    return poll(process, None, deliver=unreachable)


def _all_end_as(status: JobStatus) -> Any:
    def check(_world: World, end: Snapshot, _prepared: object) -> None:
        assert [job.status for job in end.jobs.values()] == [status] * BATCH

    return check


def _only_one_is_dead(_world: World, end: Snapshot, _prepared: object) -> None:
    states = sorted(job.status for job in end.jobs.values())
    assert states == sorted([JobStatus.DEAD_LETTER, *[JobStatus.COMPLETED] * (BATCH - 1)])


_COMPLETED = _all_end_as(JobStatus.COMPLETED)
_RESULTS = ("result",) * BATCH
_TOGETHER = "BatchExecuteStatement"

SCENARIOS = (
    Scenario(
        name="poll a batch",
        prepare=_due(*_RESULTS),
        act=poll,
        calls=(*("UpdateItem",) * BATCH, INVOKE),
        check=_COMPLETED,
    ),
    Scenario(
        name="hand over a batch of jobs to nobody",
        prepare=_due(*_RESULTS),
        act=_poll_without_handlers,
        calls=(*("UpdateItem",) * BATCH, INVOKE, *("UpdateItem",) * BATCH),
        check=_COMPLETED,
    ),
    Scenario(
        name="start and complete a batch",
        prepare=_claimed(*_RESULTS),
        act=_run,
        calls=(_TOGETHER, _TOGETHER),
        check=_COMPLETED,
    ),
    Scenario(
        name="a batch of which one fails, to be tried again",
        prepare=_claimed("result", "fail_once", "result"),
        act=_run,
        calls=(_TOGETHER, "UpdateItem", _TOGETHER),
        check=_COMPLETED,
    ),
    Scenario(
        name="a batch of which one is snoozed",
        prepare=_claimed("snooze_once", "result", "result"),
        act=_run,
        calls=(_TOGETHER, "UpdateItem", _TOGETHER),
        check=_COMPLETED,
    ),
    Scenario(
        name="a batch of which one fails for good",
        prepare=_claimed("result", "result", "fail"),
        act=_run,
        calls=(_TOGETHER, "UpdateItem", _TOGETHER),
        check=_only_one_is_dead,
    ),
    Scenario(
        name="reap a batch that died",
        prepare=_died_in_the_handler,
        act=poll,
        calls=("UpdateItem",) * BATCH,
        check=_COMPLETED,
    ),
)
