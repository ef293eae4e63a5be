"""What was mended is missed when it is taken out; two of them here, `make simulate-teeth` takes out all."""

from __future__ import annotations

import pytest

from tests.docs.markdown import text_of
from tests.docs.test_requirements_page import names_in
from tests.simulation.mended import MENDINGS, Mending, is_noticed

PAGE = text_of("docs/reliability.md")
QUICK = ("a lane is forgotten after a poller's life", "seats beyond a lowered limit count")


@pytest.mark.parametrize("mending", MENDINGS, ids=lambda mending: mending.name)
def test_what_was_mended_is_held_by_a_test_that_there_is_and_that_the_page_names(mending: Mending) -> None:
    path, _, name = mending.test.partition("::")
    name = name.partition("[")[0]

    assert name in names_in(path)
    assert f"`{path}::{name}`" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_what_was_mended_is_missed(name: str) -> None:
    (mending,) = [each for each in MENDINGS if each.name == name]

    assert is_noticed(mending)
