"""The page on reliability: its figures are those of the last runs, and these were whole."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.generate_reliability import PAGE, SIMULATED, page
from tests.docs.test_requirements_page import names_in
from tests.simulation.faults import Fault

RERUN = "run `make simulate`, which writes it, then `make docs`"


@pytest.fixture
def run() -> dict[str, Any]:
    """The run of the simulation that is kept."""
    found: dict[str, Any] = json.loads(SIMULATED.read_text())
    return found


def test_the_page_is_what_the_last_runs_make_of_it() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_a_row(fault: Fault) -> None:
    assert f"\n| {fault.replace('_', ' ')} |" in PAGE.read_text()


def test_the_kept_run_of_the_simulation_was_a_full_one_without_a_broken_seed(run: dict[str, Any]) -> None:
    assert run["seeds"] >= 20_000, RERUN
    assert run["failures"] == []


def test_the_kept_run_met_every_fault_and_every_cell_that_can_be_met(run: dict[str, Any]) -> None:
    assert run["missed"] == [], RERUN
    assert {cell.split(" / ")[0] for cell in run["cells"]} == set(Fault), RERUN


FOUND = re.findall(r"^\| (?!found|---)(.+?) \| (`\S+::test_.+) \|$", PAGE.read_text(), re.MULTILINE)


def test_every_fault_that_was_found_has_its_row() -> None:
    assert len(FOUND) >= 25


@pytest.mark.parametrize(("fault", "shown_by"), FOUND, ids=[fault[:60] for fault, _ in FOUND])
def test_every_fault_that_was_found_is_shown_by_tests_that_there_are(fault: str, shown_by: str) -> None:
    for path, name in re.findall(r"`(\S+\.py)::(test_\w+)`", shown_by):
        assert name in names_in(path), f"{path} has no {name}"
    assert re.sub(r"`\S+\.py::test_\w+`", "", shown_by).strip(" ,") == "", fault
