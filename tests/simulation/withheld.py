"""What seeds could meet and do not yet, each with the reason: its finding is being mended.

An entry goes as soon as its fix is there. Nothing else may be withheld: a capability without an entry is on.
"""

from __future__ import annotations

LANES_WAIT = "lanes wait"
LINES = "lines"

WITHHELD: dict[str, str] = {
    LANES_WAIT: "issue 12, finding 1: a job that waits for two limits is moved to and fro between their lanes",
    LINES: "issue 12, finding 1: there are no lines of lanes yet",
}


def is_withheld(capability: str) -> bool:
    return capability in WITHHELD
