"""The page of the architecture, and what else shows the rooms: all of them are there, and nothing that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import leasehold
from leasehold.kernel.transitions import JobStatus
from leasehold.limits import model
from tests.docs.markdown import ROOT, text_of

LIBRARY = Path(leasehold.__file__).parent
ROOMS = sorted(path.parent.name for path in LIBRARY.glob("*/__init__.py"))
PAGE = text_of("docs/architecture.md")


def layout() -> str:
    return text_of("docs/architecture.md").partition("## Layout")[2].partition("\n## ")[0]


def test_every_file_and_folder_that_the_page_names_exists():
    named = {name for code in re.findall(r"`([^`\n]+)`", PAGE) for name in code.split() if re.search(r"/|\.py$", name)}
    missing = {name for name in named if not (LIBRARY / name).exists() and not (ROOT / name).exists()}

    assert len(named) > 20
    assert missing == set()


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_in_both_pictures(room: str):
    picture = PAGE.partition("```")[2].partition("```")[0]

    assert re.search(rf"(?<![\w/]){room}/", picture)
    assert re.search(rf"(?<![\w/]){room}/", layout())


@pytest.mark.parametrize("picture", [PAGE.partition("```")[2].partition("```")[0], layout()], ids=["rooms", "layout"])
def test_no_picture_shows_a_room_that_is_gone(picture: str):
    shown = set(re.findall(r"(?<![\w/])([a-z_]+)/(?!\w)", picture))

    assert {
        name for name in shown if not any((base / name).is_dir() for base in (LIBRARY, ROOT, ROOT / "functions"))
    } == set()


def test_what_the_page_calls_by_name_has_that_name():
    assert model.DeployedLimits.__name__ in PAGE
    assert JobStatus.__name__ in PAGE
