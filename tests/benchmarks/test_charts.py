"""Charts show the figures that they are given, as well-formed SVG that needs nothing from elsewhere."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.bar_chart import BarChart
from tests.benchmarks.charts import charts, kinds_by_cost
from tests.benchmarks.results import FOLDER, load
from tests.benchmarks.scales import ticks, written
from tests.benchmarks.svg import Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

SVG = "{http://www.w3.org/2000/svg}"
CHART = BarChart(
    title="Write units & payloads",
    across="payload",
    up="write units per job",
    labels=["1 KB", "16 KB"],
    series={"plain": [9, 12.5], "<grouped>": [20, None]},
)


def texts(drawn: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawn).iter(f"{SVG}text")]


def bars(drawn: str) -> list[ET.Element]:
    """Those of figures; those of the legend are as high as they are wide."""
    return [each for each in ET.fromstring(drawn).iter(f"{SVG}rect") if each.get("fill") and each.get("height") != "11"]


def test_a_chart_says_its_title_both_axes_its_labels_and_its_series() -> None:
    said = texts(CHART.drawn())

    assert {CHART.title, CHART.across, CHART.up, *CHART.labels, *CHART.series} <= set(said)


def test_every_figure_has_a_bar_with_its_number_on_it_and_what_is_missing_has_none() -> None:
    drawn = CHART.drawn()

    assert len(bars(drawn)) == 3
    assert {"9", "12.5", "20"} <= set(texts(drawn))


def test_bars_are_as_high_as_their_figures_are_to_each_other() -> None:
    nine, _, twenty = sorted(float(bar.get("height", "")) for bar in bars(CHART.drawn()))

    assert nine / twenty == pytest.approx(9 / 20, rel=0.001)


def test_a_bound_is_a_line_with_its_name_even_above_all_bars() -> None:
    drawn = replace(CHART, bounds={"at most 28": 28}).drawn()

    assert "at most 28" in texts(drawn)
    assert [each for each in ET.fromstring(drawn).iter(f"{SVG}line") if each.get("class") == "bound"]


def test_a_legend_that_is_too_long_for_a_line_goes_on_in_the_next() -> None:
    names = [f"a kind of job that has a rather long name, number {number}" for number in range(3)]
    drawn = replace(CHART, series={name: [1, 2] for name in names}).drawn()

    found = {each.text: each for each in ET.fromstring(drawn).iter(f"{SVG}text") if each.text in names}

    assert len({each.get("y") for each in found.values()}) == 3
    assert {each.get("x") for each in found.values()} == {"86"}


def test_a_chart_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="no figures"):
        replace(CHART, series={"plain": [None, None]}).drawn()


def test_the_same_figures_make_the_same_file() -> None:
    assert CHART.drawn() == CHART.drawn()


def test_a_drawing_is_readable_on_dark_pages_too_and_loads_nothing() -> None:
    drawn = Drawing(10, 10, "nothing").written()

    assert "prefers-color-scheme: dark" in drawn
    assert "href" not in drawn
    assert drawn.count("http") == drawn.count("http://www.w3.org/2000/svg") == 1


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(9, [0, 2, 4, 6, 8, 10]), (0.53, [0, 0.2, 0.4, 0.6]), (73, [0, 20, 40, 60, 80]), (0, [0, 1])],
)
def test_an_axis_has_round_steps_and_room_for_the_highest(highest: float, expected: Sequence[float]) -> None:
    assert ticks(highest) == expected


@pytest.mark.parametrize("highest", [-1, float("nan"), float("inf")])
def test_an_axis_without_an_end_is_refused(highest: float) -> None:
    with pytest.raises(ValueError, match="axis"):
        ticks(highest)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.0417, "0.042"), (12.34, "12.3"), (100_000, "100,000")])
def test_figures_have_as_many_digits_as_they_deserve(value: float, text: str) -> None:
    assert written(value) == text


def test_the_kept_charts_are_those_of_the_kept_results() -> None:
    made = {f"{name}.svg": chart.drawn() for name, chart in charts(load()["benchmarks"]).items()}

    assert {path.name: path.read_text() for path in FOLDER.glob("*.svg")} == made


def test_a_benchmark_that_failed_has_no_chart() -> None:
    assert charts({"lateness": {"error": "no engine"}}) == {}


def test_kinds_of_jobs_stand_in_the_order_of_their_cost() -> None:
    cheap, dear = ({f"{size} typical": {"write_units": units} for size in ("0.2 KB", "16 KB")} for units in (9, 14))

    figures = {"jobs": 20, "deduplicated": dear, "plain": cheap, "plain, one at a time": cheap}
    assert kinds_by_cost(figures) == ["plain", "deduplicated"]
