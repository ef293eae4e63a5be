"""A missed bound, or a figure that is missing, is said and fails the command."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks.bounds import BOUNDS, Bound, judge, table
from tests.benchmarks.catalogue import NAMES, Benchmark
from tests.benchmarks.results import load
from tests.benchmarks.sizes import SMALL

if TYPE_CHECKING:
    from collections.abc import Sequence


LATENESS = Bound("lateness, 99th percentile", ("lateness", "p99_seconds"), 1, "s")


def benchmark(name: str, figures: dict[str, Any] | Exception) -> Benchmark:
    def measure(_: object) -> dict[str, Any]:
        if isinstance(figures, Exception):
            raise figures
        return figures

    return Benchmark(name, "a benchmark of this test", measure, str)


def run(catalogue: Sequence[Benchmark], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = command.main(["--small", "--only", "lateness"], catalogue)
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize(("value", "is_met"), [(0.99, True), (1, True), (1.01, False)])
def test_a_bound_is_met_up_to_itself(value: float, is_met: bool) -> None:
    (verdict,) = judge({"lateness": {"p99_seconds": value}}, [LATENESS])

    assert verdict.is_met is is_met


@pytest.mark.parametrize("results", [{}, {"lateness": {"error": "no engine"}}, {"lateness": {"p99_seconds": None}}])
def test_a_figure_that_was_not_measured_meets_no_bound(results: dict[str, Any]) -> None:
    (verdict,) = judge(results, [LATENESS])

    assert not verdict.is_met
    assert "not measured" in table([verdict])


def test_the_table_names_figure_bound_and_verdict() -> None:
    verdicts = judge({"lateness": {"p99_seconds": 1.5}}, [LATENESS])

    row = table(verdicts).splitlines()[1]
    assert re.split(r"  +", row) == ["lateness, 99th percentile", "1.5 s", "<= 1 s", "NOT MET"]


def test_bounds_of_benchmarks_that_nobody_asked_for_are_not_judged() -> None:
    assert judge({}, [LATENESS], only=["lives"]) == []


def test_every_bound_is_of_a_benchmark_that_exists() -> None:
    assert {bound.figure[0] for bound in BOUNDS} <= set(NAMES)


def test_every_bound_finds_its_figure_in_the_kept_results_of_its_benchmark() -> None:
    kept = load()["benchmarks"]

    assert [each.bound.what for each in judge(kept, only=kept) if each.value is None] == []


@pytest.mark.parametrize(("value", "is_met"), [(149, False), (150, True), (151, True)])
def test_a_bound_from_below_is_met_from_itself_on(value: float, is_met: bool) -> None:
    (verdict,) = judge({"lives": {"rate": value}}, [Bound("rate", ("lives", "rate"), 150, "/s", is_least=True)])

    assert verdict.is_met is is_met
    assert verdict.as_record()["at_least"] == 150
    assert ">= 150 /s" in table([verdict])


def test_the_command_ends_well_if_every_bound_is_met(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([benchmark("lateness", {"p99_seconds": 0.5})], capsys)

    assert code == 0
    assert "[1/1] lateness" in said
    assert "NOT MET" not in said


def test_a_missed_bound_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([benchmark("lateness", {"p99_seconds": 2})], capsys)

    assert code == 1
    assert "NOT MET" in said
    assert "1 of 1 bounds are not met" in said


def test_a_benchmark_that_breaks_fails_the_command_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([benchmark("lateness", OSError("no engine"))], capsys)

    assert code == 1
    assert "FAILED, OSError: no engine" in said


def test_one_that_breaks_does_not_keep_the_others_from_running() -> None:
    results = command.run([benchmark("lives", OSError("no engine")), benchmark("polls", {"n": 1})], SMALL)

    assert results == {"lives": {"error": "OSError: no engine"}, "polls": {"n": 1}}


def test_a_part_of_a_run_is_shown_and_not_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "keep", lambda *_, **__: pytest.fail("only a whole run is kept"))

    _, said = run([benchmark("lateness", {"p99_seconds": 0.5})], capsys)

    assert json.dumps({"p99_seconds": 0.5}).strip("{}") in said
