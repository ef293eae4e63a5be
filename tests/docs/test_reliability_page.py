"""The page on reliability: its figures are those of the last runs, and these were whole."""

from __future__ import annotations

import json

from docs.generate_reliability import PAGE, SIMULATED, page


def test_the_page_is_what_the_last_runs_make_of_it() -> None:
    assert PAGE.read_text() == page(), "run .venv/bin/python docs/generate_reliability.py"


def test_the_kept_run_of_the_simulation_is_one_without_a_broken_seed() -> None:
    run = json.loads(SIMULATED.read_text())

    assert run["seeds"] >= 2_000, "run `make simulate`, which writes it"
    assert run["failures"] == []
