"""What is kept of a run: sorted, described, and without a word about whose machine it was."""

from __future__ import annotations

import getpass
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.machine import circumstances
from tests.benchmarks.results import LATEST, keep, keep_anew, load
from tests.benchmarks.sizes import SMALL, WHOLE

if TYPE_CHECKING:
    from typing import Any

NEEDED = {
    "benchmarks",
    "bounds",
    "commit",
    "has_uncommitted_changes",
    "machine",
    "measured_at",
    "seconds",
    "sizes",
    "versions",
}


def test_a_run_is_kept_with_its_circumstances_and_sorted_keys(tmp_path: Path) -> None:
    keep({"lateness": {"error": "no engine"}}, [], SMALL, seconds=12.34, folder=tmp_path)

    text = (tmp_path / "latest.json").read_text()
    kept = json.loads(text)
    assert kept.keys() == NEEDED
    assert kept["seconds"] == 12.3
    assert text == json.dumps(kept, indent=2, sort_keys=True) + "\n"


def test_one_that_is_measured_anew_replaces_its_figures_and_says_when(tmp_path: Path) -> None:
    keep(
        {"aws_latency": {"idle_poll_calls": 30}, "polls": {"error": "no engine"}},
        [],
        SMALL,
        seconds=12,
        folder=tmp_path,
    )
    whole = load(tmp_path / "latest.json")

    keep_anew({"aws_latency": {"idle_poll_calls": 8}}, folder=tmp_path)

    kept = load(tmp_path / "latest.json")
    assert kept["benchmarks"] == {"aws_latency": {"idle_poll_calls": 8}, "polls": {"error": "no engine"}}
    assert kept["measured_at"] == whole["measured_at"]
    assert list(kept["measured_anew"]) == ["aws_latency"]
    assert [each["value"] for each in kept["bounds"] if each["what"].startswith("calls of an idle poll")] == [8]


def test_charts_of_an_earlier_run_go(tmp_path: Path) -> None:
    (tmp_path / "old.svg").write_text("<svg/>")

    keep({}, [], SMALL, seconds=1, folder=tmp_path)

    assert list(tmp_path.glob("*.svg")) == []


def test_nothing_names_the_machine_or_a_place_on_it() -> None:
    said = json.dumps(circumstances())

    for secret in (platform.node(), str(Path.home()), str(Path(__file__).parents[2])):
        assert secret not in said
    assert getpass.getuser() not in said.split('"')


def test_the_kept_results_are_sorted_and_name_no_place() -> None:
    text = LATEST.read_text()

    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    assert "/tmp/" not in text
    assert "/home/" not in text


def test_results_that_are_not_there_say_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make bench"):
        load(tmp_path / "latest.json")


def test_the_kept_results_have_what_pages_are_made_of() -> None:
    kept: dict[str, Any] = load()

    # Runs before November 16 did not say how long they took.
    assert (kept.keys() | {"seconds"}) - {"measured_anew"} == NEEDED


def test_the_kept_results_are_of_a_whole_run() -> None:
    kept, whole = load()["sizes"], json.loads(json.dumps(asdict(WHOLE)))

    # A size that is younger than the run says nothing of it.
    assert all(kept.get(name, size) == size for name, size in whole.items()), (
        "run `make bench`: these are of a smaller run"
    )
