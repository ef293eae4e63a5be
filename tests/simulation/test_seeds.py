"""A thousand seeds hold every invariant, after every step and at the end; `make simulate` runs twenty times as many."""

from __future__ import annotations

import pytest

from tests.simulation.many import told
from tests.simulation.simulation import simulate

_SEEDS, _AT_ONCE = 1000, 20


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, _SEEDS, _AT_ONCE))
def test_every_invariant_holds(start: int) -> None:
    for seed in range(start, start + _AT_ONCE):
        outcome = simulate(seed)
        assert outcome.violation is None, told(outcome)
