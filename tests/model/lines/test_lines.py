"""Lines and holds: nobody waits unseen, no freed seat is overlooked, whatever joiners, visitors and an end do.

Searched whole: one job, two visitors and a minute that passes; two jobs, one visitor and no minute. Two jobs, two
visitors and a minute are more than 62 million states: as far as these were searched, nothing broke.

The bounds are small. Four rules (LEAVE_AS_SEEN, FORGET_AS_SEEN, ENTRY_AGAIN, TRY_AGAIN) need more to be missed than a
search of these finds in seconds: for them there is no counterexample here.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.model.spin import missing_tool

MODEL = Path(__file__).parent / "lines.pml"
NUMBERED = {name: int(number) for name, number in re.findall(r"^#define (\w+) +(\d+) /\*", MODEL.read_text(), re.M)}
needs_spin = pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))


def search(folder: Path, *, without: int = 0, **bounds: int) -> str:
    (folder / MODEL.name).write_text(MODEL.read_text())
    sizes = [f"-D{name.upper()}={value}" for name, value in bounds.items()]
    for command in (
        ["spin", f"-DWITHOUT={without}", *sizes, "-a", MODEL.name],
        ["gcc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4000", "-o", "verifier", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return subprocess.run(
        ["./verifier", "-E", "-m100000", "-w22"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@needs_spin
def test_a_lane_that_waits_is_seen_and_a_freed_seat_is_looked_at(tmp_path: Path) -> None:
    found = search(tmp_path, crashes=0, joins=1, looks=0, minutes=1)

    assert "errors: 0" in found
    assert "Search not completed" not in found


@needs_spin
@pytest.mark.deep
@pytest.mark.timeout(600)
def test_two_jobs_that_two_processes_hold_at_once_are_seen_too(tmp_path: Path) -> None:
    found = search(tmp_path, crashes=0, joins=2, looks=0, minutes=0, visitors=1)

    assert "errors: 0" in found
    assert "Search not completed" not in found


# One rule of each promise in `make test`, all of them in `make test-deep`.
@needs_spin
@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("LOOK_FIRST", "SEEN"),
        ("SEATS_AGAIN", "PROMPT"),
        pytest.param("JOIN_FIRST", "SEEN", marks=pytest.mark.deep),
        pytest.param("JOINER_LOOKS_AGAIN", "CALLED", marks=pytest.mark.deep),
        pytest.param("VISITOR_LOOKS_AGAIN", "CALLED", marks=pytest.mark.deep),
        pytest.param("EMPTY_TWICE", "SEEN", marks=pytest.mark.deep),
        pytest.param("SEATS_AFTER_LOOK", "PROMPT", marks=pytest.mark.deep),
        pytest.param("PUT_OFF_AS_SEEN", "PROMPT", marks=pytest.mark.deep),
    ],
)
def test_without_a_rule_somebody_waits_unseen(rule: str, broken: str, tmp_path: Path) -> None:
    found = search(tmp_path, without=NUMBERED[rule], crashes=1, joins=1, looks=1, minutes=2)

    assert f"broken!={NUMBERED[broken]}" in found
