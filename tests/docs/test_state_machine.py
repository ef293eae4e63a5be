"""The page about the state machine says what the code says."""

from __future__ import annotations

import re

import pytest

from docs import generate
from leasehold.kernel.transitions import TRANSITIONS, JobStatus, Transition
from tests.docs.markdown import text_of

PAGE = "docs/state-machine.md"


def test_the_page_is_the_one_that_the_transition_table_makes() -> None:
    page = text_of(PAGE)

    assert page == generate.filled(page), "run .venv/bin/python docs/generate.py"


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.name)
def test_every_transition_has_a_row(transition: Transition) -> None:
    assert f"\n| `{transition.name}` |" in text_of(PAGE)


def test_the_diagram_has_every_state_and_no_other() -> None:
    arrows = re.findall(r"^    (\S+) --> ([\w\[\]*]+)", generate.diagram(), re.MULTILINE)

    assert {state for arrow in arrows for state in arrow} - {"[*]"} == set(map(str, JobStatus))


def test_a_page_with_a_stale_table_is_noticed() -> None:
    stale = text_of(PAGE).replace("| `claim` | poller |", "| `claim` | sdk |")

    assert stale != text_of(PAGE)
    assert generate.filled(stale) != stale
