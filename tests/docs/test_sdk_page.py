"""The page of the SDK is made from the code."""

from __future__ import annotations

import leasehold
from docs.generate_sdk import PAGE, page


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text() == page(), "a docstring has changed: run docs/generate_sdk.py"


def test_every_exported_name_has_its_section() -> None:
    text = PAGE.read_text()

    assert [name for name in leasehold.__all__ if f"## `{name}" not in text] == []
