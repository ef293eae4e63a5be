"""Some teeth, quickly; `make simulate-teeth` shows all of them."""

from __future__ import annotations

import pytest

from tests.simulation.crafted import is_missed
from tests.simulation.guards import SOURCES, Guard, all_guards
from tests.simulation.teeth import STAGES, bite, unexplained


def test_each_guard_has_a_scene_or_a_reason() -> None:
    assert unexplained() == []


@pytest.mark.parametrize("guard", all_guards(), ids=str)
def test_a_crafted_job_misses_the_guard_that_alone_refuses_it(guard: Guard) -> None:
    assert is_missed(guard)


@pytest.mark.parametrize("guard", STAGES, ids=str)
def test_a_job_that_ended_in_the_same_millisecond_is_left_alone(guard: Guard) -> None:
    found = bite((guard,))
    assert found.holds, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "guard",
    [
        Guard("claim", "due_key as seen"),
        Guard("start", "locked_by as seen"),
        Guard("extend", "lock_expires_at is not shortened"),
        Guard("complete", "locked_by as seen"),
        Guard("request_cancel", SOURCES),
        Guard("settle", "due_key as seen"),
    ],
    ids=str,
)
def test_a_guard_that_is_gone_is_noticed(guard: Guard) -> None:
    found = bite((guard,))
    assert found.holds, found
