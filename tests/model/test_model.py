"""The model of the lease protocol holds, needs its guards, and has those of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.model import results as kept
from tests.model.guards import RULES, guards_of_the_code, guards_of_the_model, guards_that_the_model_uses
from tests.model.redundant import REDUNDANT
from tests.model.results import RERUN, SMALL, counterexample_of, figures_of
from tests.model.spin import Verifier, missing_tool

if TYPE_CHECKING:
    from pathlib import Path

needs_spin = pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))
# Every fourth guard in `make test`; all of them in `make model` and `make test-deep`. That nothing breaks takes the
# whole search to see; it only keeps the page right. Two need a long one until something breaks.
_EVERY = 4
_LONG = {"fail_NO_CANCEL_REQUESTED", "claim_STATUS"}
_GUARDS = [
    pytest.param(guard, marks=[pytest.mark.deep] if guard in (*REDUNDANT, *_LONG) or number % _EVERY else [])
    for number, guard in enumerate(guards_of_the_model())
]
_SAME_EVERYWHERE = ("workers", "jobs", "expiries", "mishaps", "states", "depth")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Verifier:
    return Verifier(tmp_path_factory.mktemp("model"), SMALL, shortest=True)


def test_the_model_has_the_guards_of_the_transition_table_and_no_others() -> None:
    assert set(guards_of_the_model()) == guards_of_the_code() | set(RULES)


def test_the_model_uses_every_guard_that_it_names() -> None:
    assert guards_that_the_model_uses() == set(guards_of_the_model())


def test_every_guard_has_a_number_of_its_own() -> None:
    numbers = guards_of_the_model().values()

    assert len(set(numbers)) == len(numbers)
    assert 0 not in numbers


@needs_spin
def test_nothing_is_broken_in_all_that_one_job_can_live_through(tmp_path: Path) -> None:
    search = Verifier(tmp_path, SMALL).search()

    assert search.violation is None
    recorded, seen = kept.load()["runs"]["one job, safety"], figures_of(SMALL, search)
    assert {name: seen[name] for name in _SAME_EVERYWHERE} == {name: recorded[name] for name in _SAME_EVERYWHERE}


@needs_spin
@pytest.mark.deep
def test_no_run_goes_round_in_circles(tmp_path: Path) -> None:
    """So every run comes to an end, and the ends are checked: together that is `every job ends`."""
    assert Verifier(tmp_path, SMALL, cycles=True).search().violation is None


@needs_spin
@pytest.mark.parametrize("guard", _GUARDS)
def test_without_a_guard_something_breaks_or_another_implies_it(guard: str, verifier: Verifier) -> None:
    example = counterexample_of(verifier.search(without=guards_of_the_model()[guard]))

    assert (example is None) == (guard in REDUNDANT)
    assert example == kept.load()["without"][guard], RERUN


def test_the_figures_are_those_of_this_model() -> None:
    assert kept.load()["model"] == kept.model_hash(), f"the model has changed since its figures were taken: {RERUN}"


def test_the_page_has_the_figures_of_the_last_run() -> None:
    page = kept.PAGE.read_text()

    assert page == kept.filled(page, kept.load()), RERUN
