"""docs/requirements.md names tests and files that are there."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.markdown import ROOT, text_of

PAGE = text_of("docs/requirements.md")
LIBRARY = ROOT / "layers" / "leasehold" / "python" / "leasehold"
_ROW = re.compile(r"^\| (?!requirement|---)(.+?) \| (.*?) \| (.+?) \|(.*)\|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str, str]]:
    return _ROW.findall(PAGE)


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_all_five_documents_have_their_table() -> None:
    assert re.findall(r"^## (\d{3}):", PAGE, re.MULTILINE) == ["000", "001", "002", "003", "004"]
    for part in PAGE.split("\n## ")[1:]:
        assert len(_ROW.findall(part)) >= 10


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_every_requirement_is_shown_by_tests_that_there_are(row: tuple[str, str, str, str]) -> None:
    named = re.findall(r"`(\S+\.py)::(test_\w+)`", row[2])

    assert named, row[0]
    for path, name in named:
        assert name in names_in(path), f"{path} has no {name}"
    # What the cell says besides would be read as shown, too.
    assert re.sub(r"`\S+::test_\w+`", "", row[2]).strip(" ,") == ""


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_every_requirement_lives_where_the_page_says(row: tuple[str, str, str, str]) -> None:
    for place in re.findall(r"`([\w/.]+(?:\.py|\.toml|/))`", row[1]):
        is_named_alone = "/" not in place and any(LIBRARY.rglob(place))
        assert is_named_alone or (LIBRARY / place).exists() or (ROOT / place).exists(), place


def test_most_requirements_are_shown_on_the_deployed_stack() -> None:
    deployed = [row for row in rows() if re.search(r"`(e2e|acceptance)/", row[2])]

    assert len(deployed) / len(rows()) > 0.7
