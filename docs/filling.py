"""The parts of a page that are made by a program: each stands between two comments with its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def filled(page: str, services: Mapping[str, str], name: str) -> str:
    """The page with these parts made anew; `name` is what the page is called if one has no place on it."""
    for part, made in services.items():
        begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{name} has no place for the {part}: put {begin} and {end} where it belongs")
        page = f"{before}{begin}\n{made}\n{end}{after}"
    return page
