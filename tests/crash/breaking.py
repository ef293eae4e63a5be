"""Scenarios of circuit breakers: count, open, probe, close, and what people do about it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.crash.faults import INVOKE, Killed
from tests.crash.invariants import assert_at_rest
from tests.crash.polling import poll
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario, insistently
from tests.crash.world import TYPES, unreachable

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_LEASE = TYPES["breaking"].full_lease
_BREAKER = TYPES["breaking"].breaker


def _run(process: Process, handover: Handover) -> object:
    return process.worker.run(handover)


def _claimed(world: World, mode: str) -> Handover:
    world.enqueue(mode, "breaking")
    return world.claim()


def _first_run(world: World) -> Handover:
    return _claimed(world, "result")


def _second_run(world: World) -> Handover:
    world.run(_claimed(world, "fail_once"))
    return _claimed(world, "result")


def _last_straw(world: World) -> Handover:
    world.run(_claimed(world, "fail_once"))
    return _claimed(world, "fail_once")


def _opened(world: World) -> None:
    world.run(_last_straw(world))
    assert _is_open(world)


def _probe_is_due(world: World) -> None:
    _opened(world)
    world.enqueue(job_type="breaking")
    assert _BREAKER is not None
    world.clock.advance(_BREAKER.probe_after)


def _held_and_probe_is_due(world: World) -> None:
    _opened(world)
    for _ in range(2):
        world.enqueue(job_type="breaking")
    world.elsewhere.poller().poll()
    assert _BREAKER is not None
    world.clock.advance(_BREAKER.probe_after)


def _probe(mode: str) -> Any:
    def prepare(world: World) -> Handover:
        _opened(world)
        assert _BREAKER is not None
        world.clock.advance(_BREAKER.probe_after)
        return _claimed(world, mode)

    return prepare


def _lost_probe(world: World) -> None:
    with suppress(Killed):
        world.run(_probe("die_once")(world))
    # The next probe is not due yet: the reaper comes first.
    world.clock.advance(_LEASE + timedelta(seconds=1))


def _poll_without_handlers(process: Process, _prepared: object) -> object:
    return poll(process, None, deliver=unreachable)


def _pause(process: Process, _prepared: object) -> object:
    return process.operator.pause("breaking", reason="a test")


def _unpause(process: Process, _prepared: object) -> object:
    return process.operator.unpause("breaking")


def _lift(world: World) -> None:
    world.elsewhere.operator.unpause("breaking")


def _is_open(world: World) -> bool:
    return "breaking" in world.elsewhere.operator.switches().pauses


def _closes_again(world: World, _end: Snapshot, _prepared: object) -> None:
    """An open circuit that nobody closes would let this one wait for ever."""
    # A worker that has not noticed yet that the circuit is open would not close it: switches are cached.
    world.clock.advance(timedelta(seconds=5))
    world.enqueue(job_type="breaking")
    recover(world)
    assert_at_rest(world)
    assert not _is_open(world)


def _closes_again_once_lifted(world: World, end: Snapshot, prepared: object) -> None:
    """A pause by hand that arrives late stands until it is lifted."""
    _lift(world)
    _closes_again(world, end, prepared)


SCENARIOS = (
    Scenario(
        name="count the first run of a window",
        prepare=_first_run,
        act=_run,
        calls=("UpdateItem",) * 3 + ("PutItem",),
        check=_closes_again,
    ),
    Scenario(name="count another run", prepare=_second_run, act=_run, calls=("UpdateItem",) * 3, check=_closes_again),
    Scenario(
        name="open a circuit",
        prepare=_last_straw,
        act=_run,
        calls=("UpdateItem",) * 4,
        check=_closes_again,
    ),
    Scenario(
        name="send a probe",
        prepare=_probe_is_due,
        act=poll,
        calls=("TransactWriteItems", INVOKE),
        check=_closes_again,
    ),
    Scenario(
        name="send a held job as a probe",
        prepare=_held_and_probe_is_due,
        act=poll,
        calls=("TransactWriteItems", INVOKE),
        check=_closes_again,
    ),
    Scenario(
        name="send a probe to nobody",
        prepare=_probe_is_due,
        act=_poll_without_handlers,
        calls=("TransactWriteItems", INVOKE, "UpdateItem", "UpdateItem"),
        check=_closes_again,
    ),
    Scenario(
        name="complete as a probe",
        prepare=_probe("result"),
        act=_run,
        calls=("UpdateItem",) * 2 + ("TransactWriteItems",),
        check=_closes_again,
    ),
    Scenario(
        name="fail as a probe",
        prepare=_probe("fail_once"),
        act=_run,
        calls=("UpdateItem",) * 3,
        check=_closes_again,
    ),
    Scenario(
        name="snooze as a probe",
        prepare=_probe("snooze_once"),
        act=_run,
        calls=("UpdateItem",) * 3,
        check=_closes_again,
    ),
    Scenario(name="reap a lost probe", prepare=_lost_probe, act=poll, calls=("UpdateItem",) * 2, check=_closes_again),
    Scenario(
        name="close a circuit by hand",
        prepare=_opened,
        act=_unpause,
        again=insistently(_unpause),
        lift=_lift,
        calls=("TransactWriteItems",),
    ),
    Scenario(
        name="pause a type whose circuit is open",
        prepare=_opened,
        act=_pause,
        again=insistently(_pause),
        lift=_lift,
        calls=("TransactWriteItems",),
        check=_closes_again_once_lifted,
    ),
)
