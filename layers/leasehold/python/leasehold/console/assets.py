"""The files of the page. All are known before the first request: a path is looked up, never opened."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from leasehold.console.exchange import Answer

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def assets() -> dict[str, Answer]:
    """By path: `/` is the page itself."""
    found = dict(_below(files("leasehold.console") / "static", ""))
    found["/"] = found.pop("/index.html")
    return found


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Answer]]:
    found: list[tuple[str, Answer]] = []
    for entry in folder.iterdir():
        path = f"{prefix}/{entry.name}"
        kind = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if entry.is_dir():
            found += _below(entry, path)
        elif kind is not None:
            found.append((path, Answer(status=200, body=entry.read_bytes(), content_type=kind)))
    return found
