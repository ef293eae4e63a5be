"""Crash at every call: nothing lost, nothing completed twice, dedup record and job agree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.crash import (
    administering,
    asking,
    breaking,
    direct_running,
    enqueueing,
    grouping,
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

SCENARIOS = (
    *enqueueing.SCENARIOS,
    *polling.SCENARIOS,
    *limiting.SCENARIOS,
    *running.SCENARIOS,
    *operating.SCENARIOS,
    *moving.SCENARIOS,
    *administering.SCENARIOS,
    *breaking.SCENARIOS,
    *direct_running.SCENARIOS,
    *asking.SCENARIOS,
    *telling.SCENARIOS,
    *templating.SCENARIOS,
    *grouping.SCENARIOS,
)
KILLS = [fault for fault in Fault if fault.kills]
SURVIVED = [fault for fault in Fault if not fault.kills]

pytestmark = [pytest.mark.dynoxide, pytest.mark.slow]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@pytest.mark.parametrize("fault", KILLS, ids=str)
def test_a_process_that_dies_at_any_call_loses_and_doubles_nothing(
    site: Site, scenario: Scenario, fault: Fault
) -> None:
    assert strike_everywhere(site, scenario, fault) >= len(scenario.calls)


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.again], ids=str)
@pytest.mark.parametrize("fault", KILLS, ids=str)
def test_a_caller_that_got_no_answer_may_ask_again(site: Site, scenario: Scenario, fault: Fault) -> None:
    assert strike_everywhere(site, scenario, fault, try_again=True) >= len(scenario.calls)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@pytest.mark.parametrize("fault", SURVIVED, ids=str)
def test_a_call_that_goes_wrong_once_changes_neither_the_answer_nor_the_logs(
    site: Site, scenario: Scenario, fault: Fault
) -> None:
    assert strike_everywhere(site, scenario, fault) > 0


def test_no_scenario_has_become_empty_and_together_they_cover_a_thousand_crash_points(site: Site) -> None:
    points = 0
    for scenario in SCENARIOS:
        calls = rehearsed(site, scenario).calls
        assert Counter(scenario.calls) <= Counter(calls), scenario.name
        kills = sum(len(fault.points(calls)) for fault in KILLS)
        points += kills * (2 if scenario.again else 1) + sum(len(fault.points(calls)) for fault in SURVIVED)
    print(f"{len(SCENARIOS)} scenarios, {points} crash points")
    assert points >= 1_000
