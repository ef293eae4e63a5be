"""What seeds could meet and do not yet, each with the reason: its finding is being mended.

An entry goes as soon as its fix is there. Nothing else may be withheld: a capability without an entry is on.
"""

from __future__ import annotations

LANES_WAIT = "lanes wait"
LINES = "lines"

WITHHELD: dict[str, str] = {}


def is_withheld(capability: str) -> bool:
    return capability in WITHHELD
