"""docs/security.md names, for each attack that once worked, tests that are there."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown import text_of
from tests.docs.test_requirements_page import names_in

_PART = text_of("docs/security.md").partition("## What was tried, and what refuses it")[2]
ROWS = re.findall(r"^\| (?!attack|---)(.+?) \| (.+?) \|$", _PART, re.MULTILINE)
_ATTACKS = (
    "forged job",
    "rewritten job of another type",
    "forged dead letter",
    "signed forgery",
    "job overwritten by an enqueuer",
    "browser's post to the local AWS",
    "another port, in Chromium",
    "new version",
    "delete marker",
    "terminal escapes",
    "bomb",
    "poisoned listing",
    "poisoned schedule",
)


@pytest.mark.parametrize("attack", _ATTACKS)
def test_every_attack_has_its_row(attack: str) -> None:
    assert len([what for what, _ in ROWS if attack in what]) == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_attack_is_refused_by_tests_that_there_are(row: tuple[str, str]) -> None:
    named = re.findall(r"`(\S+\.py)::(test_\w+)`", row[1])

    assert named
    for path, name in named:
        assert name in names_in(path), f"{path} has no {name}"
    assert re.sub(r"`\S+::test_\w+`", "", row[1]).strip(" ,") == ""
