"""Events that start a poller, besides the tick and the stream."""

from __future__ import annotations

RESIDENT_SOURCE = "leasehold.resident"
# A seat was freed that somebody waits for: `scopes` lists each scope with the due key that it was given.
FREED_SOURCE = "leasehold.freed"
