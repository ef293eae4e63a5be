"""Scenarios of operators: cancel, retry, reschedule, edit, redrive, discard, the switches, a deployment."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.domain.control import Registry
from leasehold.domain.dead_letter import Resolution
from leasehold.domain.errors import LeaseholdError
from leasehold.domain.job_type import JobType
from leasehold.domain.lifecycle import JobStatus
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario
from tests.crash.world import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_HOUR = timedelta(hours=1)
_WITH_NEW = Registry(types={**TYPES, "new": JobType(name="new")})


def _insistently(act: Callable[[Process, Any], object]) -> Callable[[Process, Any], object]:
    """Who got no answer asks again, and may be told that it was done already."""

    def again(process: Process, prepared: object) -> None:
        with suppress(LeaseholdError):
            act(process, prepared)

    return again


def _cancel(process: Process, job_id: str) -> object:
    return process.queue.cancel(job_id, reason="not wanted").job_ended


def _retry(process: Process, job_id: str) -> object:
    return process.queue.retry(job_id).created


def _reschedule(process: Process, job_id: str) -> object:
    return process.queue.reschedule(job_id, run_in=2 * _HOUR).scheduled_for.year


def _edit(process: Process, job_id: str) -> object:
    return process.queue.edit(job_id, payload={"mode": "skip"}, priority=2, max_attempts=7).payload


def _redrive(process: Process, job_id: str) -> object:
    return process.operator.redrive(job_id, reason="fixed").error


def _redrive_many(process: Process, _prepared: object) -> object:
    return [result.error for result in process.operator.redrive_many(reason="fixed")]


def _discard(process: Process, job_id: str) -> object:
    return process.operator.discard(job_id, reason="known").resolution


def _halt(process: Process, _prepared: object) -> object:
    return process.operator.halt(reason="a test"), process.operator.resume()


def _pause(process: Process, _prepared: object) -> object:
    return process.operator.pause("work", reason="a test"), process.operator.unpause("work")


def _lift_all(world: World) -> None:
    world.elsewhere.operator.resume()
    world.elsewhere.operator.unpause("work")


def _publish(process: Process, _prepared: object) -> object:
    process.operator.publish(_WITH_NEW)
    return process.parts.deployment.registry() == _WITH_NEW


def _claimed(world: World) -> str:
    job_id = world.enqueue(job_type="limited", dedup_key="k")
    world.claim()
    return job_id


def _dead(count: int, **options: Any) -> Any:
    def prepare(world: World) -> str:
        made = [world.enqueue("fail", max_attempts=1, **options) for _ in range(count)]
        recover(world)
        return made[0]

    return prepare


def _completed(**options: Any) -> Any:
    def prepare(world: World) -> str:
        job_id = world.enqueue(**options)
        recover(world)
        return job_id

    return prepare


def _held_for_want_of_a_deployment(world: World) -> None:
    process = world.process()
    process.operator.publish(_WITH_NEW)
    world.enqueue(job_type="new")
    process.operator.publish(Registry(types=TYPES))
    world.elsewhere.poller().poll()
    world.clock.advance(timedelta(minutes=1))
    world.elsewhere.poller().poll()


def _deploy_again(world: World) -> None:
    """A deployment that broke off is done again."""
    world.elsewhere.operator.publish(_WITH_NEW)


def _cancelled_or_completed(_world: World, end: Snapshot, job_id: str) -> None:
    assert end.jobs[job_id].status in {JobStatus.CANCELLED, JobStatus.COMPLETED}


def _resolved_letters_may_expire(_world: World, end: Snapshot, _prepared: object) -> None:
    for letter in end.letters.values():
        assert len(end.successors(letter.id)) == int(letter.resolution is Resolution.REDRIVEN)


def _at_most_one_successor(_world: World, end: Snapshot, job_id: str) -> None:
    assert len(end.successors(job_id)) <= 1


SCENARIOS = (
    Scenario(
        name="cancel a waiting job",
        prepare=lambda world: world.enqueue(dedup_key="k", run_in=_HOUR),
        act=_cancel,
        again=_insistently(_cancel),
        calls=("UpdateItem",) * 2,
        check=_cancelled_or_completed,
    ),
    Scenario(
        name="cancel a claimed job",
        prepare=_claimed,
        act=_cancel,
        again=_insistently(_cancel),
        calls=("UpdateItem", "DeleteItem", "UpdateItem"),
        check=_cancelled_or_completed,
    ),
    Scenario(
        name="retry an ended job", prepare=_completed(), act=_retry, calls=("PutItem",), check=_at_most_one_successor
    ),
    Scenario(
        name="retry an ended job that has a dedup key",
        prepare=_completed(dedup_key="k"),
        act=_retry,
        again=_insistently(_retry),
        calls=("TransactWriteItems",) * 2,
        check=_at_most_one_successor,
    ),
    Scenario(
        name="retry a waiting job",
        prepare=lambda world: world.enqueue(run_in=_HOUR),
        act=_retry,
        again=_insistently(_retry),
        calls=("UpdateItem",),
        check=_at_most_one_successor,
    ),
    Scenario(
        name="reschedule", prepare=lambda world: world.enqueue(run_in=_HOUR), act=_reschedule, calls=("UpdateItem",)
    ),
    Scenario(
        name="edit",
        prepare=lambda world: world.enqueue(run_in=_HOUR),
        act=_edit,
        again=_insistently(_edit),
        calls=("UpdateItem",),
    ),
    Scenario(
        name="redrive",
        prepare=_dead(1),
        act=_redrive,
        again=_insistently(_redrive),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_resolved_letters_may_expire,
    ),
    Scenario(
        name="redrive a job that has a dedup key",
        prepare=_dead(1, dedup_key="k"),
        act=_redrive,
        again=_insistently(_redrive),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_resolved_letters_may_expire,
    ),
    Scenario(
        name="redrive many",
        prepare=_dead(2),
        act=_redrive_many,
        again=_redrive_many,
        calls=("TransactWriteItems", "UpdateItem") * 2,
        check=_resolved_letters_may_expire,
    ),
    Scenario(
        name="discard",
        prepare=_dead(1),
        act=_discard,
        again=_insistently(_discard),
        calls=("UpdateItem",) * 2,
        check=_resolved_letters_may_expire,
    ),
    Scenario(
        name="halt and resume",
        prepare=lambda world: world.enqueue(),
        act=_halt,
        lift=_lift_all,
        calls=("PutItem", "DeleteItem"),
    ),
    Scenario(
        name="pause and unpause",
        prepare=lambda world: world.enqueue(),
        act=_pause,
        lift=_lift_all,
        calls=("PutItem", "TransactWriteItems"),
    ),
    Scenario(
        name="publish a type that jobs wait for",
        prepare=_held_for_want_of_a_deployment,
        act=_publish,
        lift=_deploy_again,
        calls=("TransactWriteItems",),
    ),
)
