"""Events that start a poller, besides the tick and the stream."""

from __future__ import annotations

WAITING_SOURCE = "leasehold.waiting"
# A backlog is more than one poller's work: `part` of `of` says where this one begins.
HELPER_SOURCE = "leasehold.helper"
# A seat was freed that somebody waits for: `scopes` are their names.
FREED_SOURCE = "leasehold.freed"
