"""docs/cost.md states what tests/cost measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import generate_cost
from tests.cost.test_write_units import LIVES, own_units
from tests.docs.markdown import text_of

PLAIN = own_units("plain")


def rows() -> dict[str, tuple[int, int]]:
    found = re.findall(r"^\| ([^|]+) \| (\d+) \| (-?\d*) ?\|$", text_of("docs/cost.md"), re.MULTILINE)
    return {name: (int(units), int(more or 0)) for name, units, more in found}


def test_every_life_that_is_measured_stands_on_the_page_with_its_units() -> None:
    stated = {name: units for name, (units, _) in rows().items() if name in LIVES}

    assert stated == {name: own_units(name) for name in LIVES}


def test_what_a_row_says_is_more_than_plain_is_that() -> None:
    assert [name for name, (units, more) in rows().items() if name in LIVES and units - PLAIN != more] == []


@pytest.mark.parametrize("name", ["cost.md", "benchmarks.md"])
def test_the_page_is_the_one_that_the_last_run_and_the_prices_make(name: str) -> None:
    made = {path.name: text for path, text in generate_cost.pages().items()}

    assert text_of(f"docs/{name}") == made[name], "run .venv/bin/python docs/generate_cost.py"


def test_a_page_with_a_stale_figure_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, stale = text_of("docs/cost.md"), tmp_path / "cost.md"
    stale.write_text(page.replace("| Leasehold, jobs due now | $", "| Leasehold, jobs due now | $1"))
    monkeypatch.setattr(generate_cost, "COST", stale)

    assert stale.read_text() != page
    assert generate_cost.pages()[stale] == page


def test_a_page_without_a_place_for_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for the bills"):
        generate_cost.filled("# What it costs", {"bills": ""}, "cost.md")


def test_every_chart_of_the_page_is_there() -> None:
    shown = re.findall(r"\]\(\.\./(tests/benchmarks/results/[\w.-]+)\)", text_of("docs/benchmarks.md"))

    assert shown
    assert [name for name in shown if not (Path(__file__).parents[2] / name).exists()] == []
