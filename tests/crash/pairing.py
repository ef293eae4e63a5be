"""Two faults in a row: the first process is struck, and so is the process that comes after it to recover."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import LeaseholdError
from tests.crash.faults import Fault, Killed
from tests.crash.harness import rehearsed
from tests.crash.invariants import assert_at_rest, assert_consistent
from tests.crash.recovery import recover
from tests.crash.snapshot import Snapshot, stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.kernel.ports import Handover
    from tests.crash.scenario import Scenario
    from tests.crash.world import Process, Site, World

FAULTS = (
    Fault.KILL_BEFORE,
    Fault.KILL_AFTER,
    Fault.KILL_LATE,
    Fault.KILL_ECHO,
    Fault.LOST_RESPONSE,
    Fault.CONFLICT,
)


@dataclass(frozen=True)
class Strike:
    fault: Fault
    at: int


def strike_in_pairs(site: Site, scenario: Scenario, first: Fault) -> int:
    """The first fault at each call, and after each the second faults at each call of who recovers; returns how many."""
    pairs = 0
    for at in first.points(rehearsed(site, scenario).calls):
        for role in _roles(scenario):
            for second in _second_strikes(site, scenario, Strike(first, at), role):
                try:
                    _run(site, scenario, Strike(first, at), role, second)
                except BaseException as error:
                    error.add_note(f"{scenario.name}: {first} at call {at}, then {role.__name__} struck by {second}")
                    raise
                pairs += 1
    return pairs


type Role = Callable[[World, Process, Scenario, Any], None]


def _poller(world: World, process: Process, _scenario: Scenario, _prepared: object) -> None:
    """Polls until all is at rest; its hand-overs reach handlers in good health."""
    recover(world, process.poller())


def _handler(world: World, process: Process, _scenario: Scenario, _prepared: object) -> None:
    """Runs what a poller in good health hands over, which does not notice where it dies; others take its place."""
    run: Callable[[Handover], object] = process.worker.run

    def deliver(handover: Handover) -> None:
        nonlocal run
        try:
            run(handover)
        except Killed:
            run = world.run

    recover(world, world.process().poller(deliver))


def _caller(_world: World, process: Process, scenario: Scenario, prepared: object) -> None:
    """Got no answer, and asks again."""
    assert scenario.again is not None
    with suppress(LeaseholdError):
        scenario.again(process, prepared)


def _roles(scenario: Scenario) -> list[Role]:
    return [_poller, _handler, *([_caller] if scenario.again else [])]


def _second_strikes(site: Site, scenario: Scenario, first: Strike, role: Role) -> Iterator[Strike]:
    """Each call that the second process makes after this first fault, with each fault that can hit it."""
    calls = _run(site, scenario, first, role, None)
    for fault in FAULTS:
        for at in fault.points(calls):
            yield Strike(fault, at)


def _run(site: Site, scenario: Scenario, first: Strike, role: Role, second: Strike | None) -> list[str]:
    world = site.world()
    prepared = scenario.prepare(world)
    _under(world, first, lambda process: scenario.act(process, prepared))
    scenario.lift(world)
    if world.late and not stored_jobs(world):
        # There is nothing to recover before it arrives.
        world.deliver_late()
    calls = _under(world, second, lambda process: role(world, process, scenario, prepared))
    recover(world)
    while world.late:
        world.deliver_late()
        recover(world)
    scenario.check(world, assert_at_rest(world), prepared)
    return calls


def _under(world: World, strike: Strike | None, act: Callable[[Process], object]) -> list[str]:
    """A new process acts under the fault. What it leaves behind is consistent, and copies of its call may come late."""
    wire = world.site.wire
    process = world.subject()
    wire.arm(strike.fault if strike else None, strike.at if strike else None)
    with suppress(Killed):
        act(process)
    calls = wire.calls
    if strike and wire.late:
        copies = 2 if strike.fault is Fault.KILL_ECHO else 1
        world.late += [wire.late] * copies
    assert_consistent(Snapshot.of(world))
    return calls
