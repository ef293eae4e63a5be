"""What the queue does in each story is what it did when somebody last looked at it: `make stories` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.all import STORIES
from tests.stories.faults import TROUBLED, troubled
from tests.stories.story import text_of
from tests.stories.tables import TABLES, table_text
from tests.stories.wire import SCENES, wire_text

KEPT = Path(__file__).parent / "kept"
TROUBLE = KEPT / "trouble"
WIRE = KEPT / "wire"
VALUES = KEPT / "values"


@pytest.mark.parametrize("name", STORIES)
def test_a_story_goes_as_it_was_kept(name: str) -> None:
    kept = (KEPT / f"{name}.txt").read_text("utf-8")

    assert text_of(name).splitlines() == kept.splitlines(), "if this is meant, `make stories` writes it anew"


@pytest.mark.parametrize("name", TROUBLED)
def test_a_story_in_trouble_ends_as_it_was_kept(name: str) -> None:
    kept = (TROUBLE / f"{name}.txt").read_text("utf-8")

    assert troubled(name).splitlines() == kept.splitlines(), "if this is meant, `make stories` writes it anew"


@pytest.mark.parametrize("name", SCENES)
def test_requests_are_as_they_were_kept(name: str) -> None:
    kept = (WIRE / f"{name}.txt").read_text("utf-8")

    assert wire_text(name).splitlines() == kept.splitlines(), "if this is meant, `make stories` writes it anew"


@pytest.mark.parametrize("name", TABLES)
def test_values_are_as_they_were_kept(name: str) -> None:
    kept = (VALUES / f"{name}.txt").read_text("utf-8")

    assert table_text(name).splitlines() == kept.splitlines(), "if this is meant, `make stories` writes it anew"


def test_every_kept_story_is_told() -> None:
    assert {path.stem for path in KEPT.glob("*.txt")} == set(STORIES)
    assert {path.stem for path in TROUBLE.glob("*.txt")} == set(TROUBLED)
