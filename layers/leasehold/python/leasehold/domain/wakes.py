"""Events that start a poller, besides the tick and the stream."""

from __future__ import annotations

RESIDENT_SOURCE = "leasehold.resident"
# A seat was freed that somebody waits for: `scopes` are their names.
FREED_SOURCE = "leasehold.freed"
