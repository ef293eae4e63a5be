"""Strike a scenario at each of its calls, let the system recover, and look at what is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.crash.faults import Fault, Killed
from tests.crash.invariants import assert_at_rest, assert_consistent, assert_untroubled
from tests.crash.recovery import recover
from tests.crash.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.crash.scenario import Scenario
    from tests.crash.world import Process, Site, World


@dataclass(frozen=True)
class Course:
    """How an operation went, as far as its caller and its logs can tell."""

    calls: tuple[str, ...]
    report: object
    events: Counter[str]


def rehearse(site: Site, scenario: Scenario) -> Course:
    """Without any fault: which calls there are to strike at, and what the caller should be told."""
    world = site.world()
    prepared = scenario.prepare(world)
    subject = world.subject()
    site.wire.arm(None)
    report = scenario.act(subject, prepared)
    course = _course(site, subject, report)
    _bring_to_rest(world, scenario, prepared)
    return course


def strike_everywhere(site: Site, scenario: Scenario, fault: Fault, *, try_again: bool = False) -> int:
    """Strike at each call in turn; returns how many there were. `try_again`: a caller who got no answer asks again."""
    course = rehearsed(site, scenario)
    points = fault.points(course.calls)
    for at in [None] if fault.strikes_every_call_at_once else points:
        try:
            if fault.kills:
                _kill(site, scenario, fault, at, try_again=try_again)
            else:
                _trouble(site, scenario, fault, at, course)
        except BaseException as error:
            where = f"call {at}, {course.calls[at - 1]}," if at else "every call"
            error.add_note(f"{scenario.name}: {fault} at {where} of {', '.join(course.calls)}")
            raise
    return len(points)


def rehearsed(site: Site, scenario: Scenario) -> Course:
    if scenario.name not in site.courses:
        site.courses[scenario.name] = rehearse(site, scenario)
    return site.courses[scenario.name]


def _kill(site: Site, scenario: Scenario, fault: Fault, at: int | None, *, try_again: bool) -> None:
    world = site.world()
    prepared = scenario.prepare(world)
    subject = world.subject()
    site.wire.arm(fault, at)
    try:
        scenario.act(subject, prepared)
    except Killed:
        # One copy meets the next handler at work; of an echo, another finds everything done.
        copies = 2 if fault is Fault.KILL_ECHO else 1
        world.late = [site.wire.late] * copies if site.wire.late else []
    else:
        raise AssertionError("the process survived its own death")
    assert_consistent(Snapshot.of(world))
    if try_again and scenario.again is not None:
        scenario.again(world.process(), prepared)
        assert_consistent(Snapshot.of(world))
    _bring_to_rest(world, scenario, prepared)


def _trouble(site: Site, scenario: Scenario, fault: Fault, at: int | None, course: Course) -> None:
    world = site.world()
    prepared = scenario.prepare(world)
    subject = world.subject()
    site.wire.arm(fault, at)
    report = scenario.act(subject, prepared)
    survived = _course(site, subject, report)
    assert_untroubled(subject)
    assert _contains(survived.calls, course.calls), f"something was left out: {survived.calls}"
    assert survived.report == course.report, "the caller was told something else than without the fault"
    assert survived.events == course.events, "the logs say something else than without the fault"
    _bring_to_rest(world, scenario, prepared)


def _bring_to_rest(world: World, scenario: Scenario, prepared: object) -> None:
    scenario.lift(world)
    recover(world)
    if world.late:
        world.deliver_late()
        recover(world)
    scenario.check(world, assert_at_rest(world), prepared)


def _contains(calls: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether all wanted calls were made, in order; retries and second looks may stand between them."""
    rest = iter(calls)
    return all(operation in rest for operation in wanted)


def _course(site: Site, subject: Process, report: object) -> Course:
    events = Counter(str(recorded.event) for recorded in subject.telemetry.events)
    return Course(calls=tuple(site.wire.calls), report=report, events=events)
