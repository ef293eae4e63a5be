"""Pages of jobs that owe something: seeds in which groups and webhooks end close together, with whatever goes wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from leasehold.pollers import settle
from tests.simulation.faults import Fault
from tests.simulation.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services

SEEDS = 20
_FAULTS = (Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.LOST_RESPONSE, Fault.THROTTLE, Fault.CONFLICT)
# Ends gather between two ticks, and a page of three is a backlog.
DIRECTED = {
    "actions": ("grouped", "grouped", "hooked"),
    "types": ("plain",),
    "jobs": 4,
    "producers": 2,
    "page": 3,
    "modes": ("result",),
    "rush": 2.0,
    "work": 0.5,
    "wakes": False,
    "pool": 4,
    "rates": dict.fromkeys(_FAULTS, 0.01),
}


@pytest.mark.slow
def test_whatever_goes_wrong_pages_are_settled_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: Counter[int] = Counter()
    settle_chain = settle._settle_chain

    def counted(chain: Mapping[str, Job], services: Services) -> dict[str, bool | Exception]:
        sizes[len(chain)] += 1
        return settle_chain(chain, services)

    monkeypatch.setattr(settle, "_settle_chain", counted)

    violations = {seed: outcome.violation for seed in range(SEEDS) if (outcome := simulate(seed, **DIRECTED)).violation}

    assert violations == {}
    # Else they show nothing: members by one transaction, and others side by side.
    assert min(sizes[1], sizes[2]) >= SEEDS // 4, sizes
