"""Every invariant holds after every step and at the end: 60 seeds; `make test-deep` 1,000, `make simulate` 20,000."""

from __future__ import annotations

import pytest

from tests.simulation.many import told
from tests.simulation.simulation import simulate

_QUICK, _SEEDS, _AT_ONCE = 60, 1000, 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [
        *range(0, _QUICK, _AT_ONCE),
        *(pytest.param(start, marks=pytest.mark.deep) for start in range(_QUICK, _SEEDS, _AT_ONCE)),
    ],
)
def test_every_invariant_holds(start: int) -> None:
    for seed in range(start, start + _AT_ONCE):
        outcome = simulate(seed)
        assert outcome.violation is None, told(outcome)
