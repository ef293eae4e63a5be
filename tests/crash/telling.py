"""Scenarios of webhooks: each run's end owes one delivery, whatever becomes of who writes it."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY
from leasehold.webhooks.address import RunEvent
from leasehold.webhooks.model import delivery_id
from tests.crash.faults import INVOKE, Killed
from tests.crash.polling import poll
from tests.crash.scenario import Scenario

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

URL = "https://hooks.example.com"
_PAST_EVERY_LEASE = timedelta(minutes=5)


def _run(process: Process, handover: Handover) -> object:
    return process.worker.run(handover)


def _claimed(mode: str, **options: Any) -> Any:
    def prepare(world: World) -> Handover:
        world.enqueue(mode, webhook=URL, **options)
        return world.claim()

    return prepare


def _lost_in_the_handler(mode: str, **options: Any) -> Any:
    def prepare(world: World) -> None:
        world.enqueue(mode, webhook=URL, **options)
        with suppress(Killed):
            world.run(world.claim())
        world.clock.advance(_PAST_EVERY_LEASE)

    return prepare


def _turned_away(world: World) -> None:
    """One has the only seat, and the other is skipped."""
    world.enqueue(job_type="skipping")
    world.claim()
    world.enqueue(job_type="skipping", webhook=URL)


def _owed(world: World) -> Handover:
    world.enqueue(webhook=URL)
    world.run(world.claim())
    return world.claim()


def _is_owed(world: World) -> None:
    world.enqueue(webhook=URL)
    world.run(world.claim())


# Whether it tells of the dead letter that a run has left, besides the run.
_OF_A_RUN, _OF_A_DEAD_LETTER = False, True


def _each_run_was_told_once(world: World, end: Snapshot, _prepared: object) -> None:
    told_of = [job for job in end.jobs.values() if job.webhook is not None]
    expected = {
        delivery_id(job.job_id, run, run.ended_at): (run.run_id(job.job_id), _OF_A_RUN)
        for job in told_of
        for run in job.runs
    } | {
        delivery_id(job.job_id, None, job.completed_at): (job.runs[-1].run_id(job.job_id), _OF_A_DEAD_LETTER)
        for job in told_of
        if job.status is JobStatus.DEAD_LETTER and job.completed_at is not None
    }
    deliveries = {job.job_id: job for job in end.jobs.values() if job.job_type == DELIVERY}
    assert expected
    assert deliveries.keys() == expected.keys(), "a delivery is missing or doubled"
    assert {job.status for job in deliveries.values()} == {JobStatus.COMPLETED}
    told = Counter((each.event["data"]["run_id"], each.event["type"] == RunEvent.DEAD_LETTERED) for each in world.told)
    assert set(told) == set(expected.values())
    # One that was sent by a process that died before it could say so is sent again, under the same id.
    assert all(told[expected[job.job_id]] <= job.attempts for job in deliveries.values())


def _scenario(name: str, prepare: Any, *, act: Any = _run, calls: tuple[str, ...]) -> Scenario:
    return Scenario(name=name, prepare=prepare, act=act, calls=calls, check=_each_run_was_told_once)


_OWING = ("UpdateItem", "UpdateItem")
# A dead letter, and what the handler writes itself, commit with the end.
_WITH_MORE = ("UpdateItem", "TransactWriteItems")
_WITH_DEAD_LETTER = ("UpdateItem", "ExecuteTransaction")
# What a poll does about it right away: the delivery, and the job that has owed it.
_TOLD = ("BatchExecuteStatement", "UpdateItem")
SCENARIOS = (
    _scenario("complete and owe a webhook", _claimed("result"), calls=_OWING),
    _scenario("fail, to be tried again, and owe a webhook", _claimed("fail_once"), calls=_OWING),
    _scenario("fail for the last time and owe a webhook", _claimed("fail", max_attempts=1), calls=_WITH_DEAD_LETTER),
    _scenario("complete with the handler's own writes and owe a webhook", _claimed("transact"), calls=_WITH_MORE),
    _scenario("skip and owe a webhook", _claimed("skip"), calls=_OWING),
    _scenario("cancel from inside and owe a webhook", _claimed("cancel"), calls=_OWING),
    _scenario(
        "fail after a cancel was asked for and owe a webhook",
        _claimed("fail_after_cancel"),
        calls=("UpdateItem",) * 3,
    ),
    _scenario(
        "reap a lost worker's job and owe a webhook",
        _lost_in_the_handler("die_once"),
        act=poll,
        calls=("UpdateItem", *_TOLD),
    ),
    _scenario(
        "reap a lost worker's last attempt and owe a webhook",
        _lost_in_the_handler("die_once", max_attempts=1),
        act=poll,
        calls=("ExecuteTransaction", *_TOLD),
    ),
    _scenario(
        "reap a cancelled job and owe a webhook",
        _lost_in_the_handler("die_after_cancel"),
        act=poll,
        calls=("UpdateItem", *_TOLD),
    ),
    _scenario("skip at a full limit and owe a webhook", _turned_away, act=poll, calls=("UpdateItem",)),
    _scenario("make a delivery and hand it over", _is_owed, act=poll, calls=(*_TOLD, "UpdateItem", INVOKE)),
    _scenario("deliver", _owed, calls=("UpdateItem",) * 2),
)
