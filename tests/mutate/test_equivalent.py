"""What is listed as equivalent stands in the code: an entry whose line has changed is looked at anew."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.mutate.__main__ import LIBRARY, ROOMS, ROOT, is_equivalent, sample_of

LISTED = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text("utf-8"))
EVERY = sample_of([LIBRARY / room for room in ROOMS], 1_000_000, 0)
# Features that have left the kernel keep what is known of them, for whoever names them as rooms.
BESIDE = {each["file"] for each in (*LISTED["equivalent"], *LISTED["tuning"]) if not each["file"].startswith(ROOMS)}
NAMED = [*EVERY, *sample_of([LIBRARY / file for file in sorted(BESIDE)], 1_000_000, 0)]


def test_what_is_listed_is_there() -> None:
    changes = {(each.path.removeprefix(f"{LIBRARY}/"), each.before, each.after) for each in NAMED}
    names = {(each.path.removeprefix(f"{LIBRARY}/"), name) for each in NAMED for name in each.names}

    gone = [each for each in LISTED["equivalent"] if (each["file"], each["before"], each["after"]) not in changes]
    assert not gone
    assert not {(each["file"], name) for each in LISTED["tuning"] for name in each["constants"]} - names


def test_at_most_a_twentieth_is_listed() -> None:
    listed = [each for each in EVERY if is_equivalent(each)]

    assert len(listed) <= len(EVERY) / 20
    assert all((ROOT / each.path).exists() for each in listed)
