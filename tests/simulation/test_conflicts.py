"""A conflict in a batch is one statement's own affair, and the engine lives with it."""

from __future__ import annotations

from itertools import pairwise

from tests.simulation.faults import Fault
from tests.simulation.simulation import simulate


def test_one_claim_of_a_batch_meets_a_conflict_and_the_others_go_through() -> None:
    outcome = simulate(
        3, rates={Fault.CONFLICT: 0.4}, types=("plain",), actions=("many",), jobs=4, rush=2.0, page=2, chores=()
    )
    assert outcome.violation is None
    claims = [line for line in outcome.lines if " poller-" in line and "BatchExecuteStatement" in line]
    struck = [(line, following) for line, following in pairwise(claims) if "2 statements: conflict" in line]
    assert struck
    assert all("1 statements: ok" in following for _, following in struck)
