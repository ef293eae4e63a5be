"""Crash at every call: nothing lost, nothing completed twice, dedup record and job agree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.crash import (
    administering,
    asking,
    batching,
    breaking,
    direct_running,
    enqueueing,
    grouping,
    large_payloads,
    lifecycle,
    limiting,
    moving,
    operating,
    polling,
    running,
    telling,
    templating,
)
from tests.crash.faults import Fault
from tests.crash.harness import rehearsed, strike_everywhere

if TYPE_CHECKING:
    from tests.crash.scenario import Scenario
    from tests.crash.world import Site

# What everything else rests on.
CORE = (
    *enqueueing.SCENARIOS,
    *polling.SCENARIOS,
    *running.SCENARIOS,
    *operating.SCENARIOS,
    *administering.SCENARIOS,
    *large_payloads.SCENARIOS,
)
# What is built on it.
FEATURES = (
    *limiting.SCENARIOS,
    *moving.SCENARIOS,
    *breaking.SCENARIOS,
    *direct_running.SCENARIOS,
    *asking.SCENARIOS,
    *batching.SCENARIOS,
    *telling.SCENARIOS,
    *templating.SCENARIOS,
    *grouping.SCENARIOS,
)
SCENARIOS = (*CORE, *FEATURES)
KILLS = [fault for fault in Fault if fault.kills]
SURVIVED = [fault for fault in Fault if not fault.kills]
# On the model in this process the core is struck by every fault at every call, always, but for two: to die before a
# call is to die after the write before it, and an echo is that death with a copy which, like a late call, comes when
# others are at work. The features, and on the real engine the life of a plain job, are struck by the fault that finds
# most. All the rest comes in `make test-deep`, and in the simulation.
FINDS_MOST = Fault.KILL_AFTER
MADE_OF_OTHERS = (Fault.KILL_BEFORE, Fault.KILL_ECHO)

pytestmark = [pytest.mark.slow]


def struck_by(faults: list[Fault], *, asked_again: bool = False) -> pytest.MarkDecorator:
    """Every scenario with every fault; what is left to `make test-deep` is marked so."""
    cases = [
        pytest.param(site, scenario, fault, id=f"{name}-{fault}-{scenario}", marks=_marks(name, scenario, fault))
        for name, site in (("model", "model_site"), ("dynoxide", "site"))
        for fault in faults
        for scenario in SCENARIOS
        if scenario.again or not asked_again
    ]
    return pytest.mark.parametrize(("struck", "scenario", "fault"), cases, indirect=["struck"])


def _marks(engine: str, scenario: Scenario, fault: Fault) -> list[pytest.MarkDecorator]:
    if engine == "model":
        is_found_so_only = scenario in CORE and fault not in MADE_OF_OTHERS
        return [] if is_found_so_only or fault is FINDS_MOST else [pytest.mark.deep]
    is_always_run = scenario in lifecycle.SCENARIOS and fault is FINDS_MOST
    return [pytest.mark.dynoxide] if is_always_run else [pytest.mark.dynoxide, pytest.mark.deep]


@struck_by(KILLS)
def test_a_process_that_dies_at_any_call_loses_and_doubles_nothing(
    struck: Site, scenario: Scenario, fault: Fault
) -> None:
    assert strike_everywhere(struck, scenario, fault) >= len(scenario.calls)


@struck_by(KILLS, asked_again=True)
def test_a_caller_that_got_no_answer_may_ask_again(struck: Site, scenario: Scenario, fault: Fault) -> None:
    assert strike_everywhere(struck, scenario, fault, try_again=True) >= len(scenario.calls)


@struck_by(SURVIVED)
def test_a_call_that_goes_wrong_once_changes_neither_the_answer_nor_the_logs(
    struck: Site, scenario: Scenario, fault: Fault
) -> None:
    assert strike_everywhere(struck, scenario, fault) > 0


def test_no_scenario_has_become_empty_and_together_they_cover_a_thousand_crash_points(
    model_site: Site,
) -> None:
    points = 0
    for scenario in SCENARIOS:
        calls = rehearsed(model_site, scenario).calls
        assert Counter(scenario.calls) <= Counter(calls), scenario.name
        kills = sum(len(fault.points(calls)) for fault in KILLS)
        points += kills * (2 if scenario.again else 1) + sum(len(fault.points(calls)) for fault in SURVIVED)
    print(f"{len(SCENARIOS)} scenarios, {points} crash points")
    assert points >= 1_000
