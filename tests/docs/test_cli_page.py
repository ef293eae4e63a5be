"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

from docs.generate_cli import PAGE, filled


def test_the_page_is_up_to_date_with_the_commands() -> None:
    assert filled(PAGE.read_text()) == PAGE.read_text(), "run: .venv/bin/python docs/generate_cli.py"
