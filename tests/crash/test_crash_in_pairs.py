"""Two faults in a row in the core lifecycle: whoever comes to recover is struck as well, at each of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.faults import Fault
from tests.crash.lifecycle import SCENARIOS
from tests.crash.pairing import FAULTS, strike_in_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.scenario import Scenario
    from tests.crash.world import Site

pytestmark = [pytest.mark.slow]

# A process that survives its fault ends these jobs by itself.
ENDED_BY_SURVIVORS = (
    "claim one",
    "claim one with a key",
    "start and complete",
    "complete a deduplicated job",
    "fail for the last time",
    "reap a lost worker's last attempt",
)
# A job that was never written, for a caller who does not ask again, and one that ended with the call.
NOTHING_TO_RECOVER = {
    ("enqueue", Fault.KILL_BEFORE),
    ("reap a lost worker's last attempt", Fault.KILL_AFTER),
    ("reap a lost worker's last attempt", Fault.KILL_ECHO),
    *((name, fault) for name in ENDED_BY_SURVIVORS for fault in FAULTS if not fault.kills),
}
# Most is left behind by a process that died after its call. All other pairs come in `make test-deep`.
ALWAYS_FIRST = Fault.KILL_AFTER
ALWAYS = ("claim one", "complete a deduplicated job", "fail for the last time", "start and complete")


def _marks(scenario: Scenario, first: Fault) -> list[pytest.MarkDecorator]:
    return [] if first is ALWAYS_FIRST and scenario.name in ALWAYS else [pytest.mark.deep]


@pytest.mark.parametrize(
    ("scenario", "first"),
    [
        pytest.param(scenario, first, marks=_marks(scenario, first), id=f"{first}-{scenario}")
        for scenario in SCENARIOS
        for first in FAULTS
    ],
)
def test_two_faults_in_a_row_lose_and_double_nothing(
    model_site: Site, scenario: Scenario, first: Fault, record_property: Callable[[str, object], None]
) -> None:
    pairs = strike_in_pairs(model_site, scenario, first)
    record_property("pairs of faults", pairs)
    print(f"{scenario}: {first}, then {pairs} second faults")
    assert pairs == 0 if (scenario.name, first) in NOTHING_TO_RECOVER else pairs >= len(FAULTS)
