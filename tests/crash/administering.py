"""Scenarios of administrators: redrive, discard, the switches, a deployment."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.dead_letter import Resolution
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario, insistently
from tests.crash.world import TYPES

if TYPE_CHECKING:
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_WITH_NEW = Registry(types={**TYPES, "new": JobType(name="new")})


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
    return process.services.deployment.registry() == _WITH_NEW


def _dead(count: int, **options: Any) -> Any:
    def prepare(world: World) -> str:
        made = [world.enqueue("fail", max_attempts=1, **options) for _ in range(count)]
        recover(world)
        return made[0]

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


def _redriven_once(_world: World, end: Snapshot, _prepared: object) -> None:
    for dead_letter in end.dead_letters.values():
        assert len(end.successors(dead_letter.id)) == int(dead_letter.resolution is Resolution.REDRIVEN)


SCENARIOS = (
    Scenario(
        name="redrive",
        prepare=_dead(1),
        act=_redrive,
        again=insistently(_redrive),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_redriven_once,
    ),
    Scenario(
        name="redrive a job that has a dedup key",
        prepare=_dead(1, dedup_key="k"),
        act=_redrive,
        again=insistently(_redrive),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_redriven_once,
    ),
    Scenario(
        name="redrive many",
        prepare=_dead(2),
        act=_redrive_many,
        again=_redrive_many,
        calls=("TransactWriteItems", "UpdateItem") * 2,
        check=_redriven_once,
    ),
    Scenario(
        name="discard",
        prepare=_dead(1),
        act=_discard,
        again=insistently(_discard),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_redriven_once,
    ),
    Scenario(
        name="halt and resume",
        prepare=lambda world: world.enqueue(),
        act=_halt,
        lift=_lift_all,
        calls=("TransactWriteItems",) * 2,
    ),
    Scenario(
        name="pause and unpause",
        prepare=lambda world: world.enqueue(),
        act=_pause,
        lift=_lift_all,
        calls=("TransactWriteItems",) * 2,
    ),
    Scenario(
        name="publish a type that jobs wait for",
        prepare=_held_for_want_of_a_deployment,
        act=_publish,
        lift=_deploy_again,
        calls=("TransactWriteItems",),
    ),
)
