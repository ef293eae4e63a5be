"""The root of all audit trails at one moment: a hash over every target and the head of its chain then.

Kept outside of the table, day by day, it shows what no single chain can: that a target was removed with all its
records, or that a chain was cut short together with its head. It is computed anew from what the table says today about
that moment, so it can be checked at any time.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from leasehold.domain.lean import dataclass
from leasehold.engine.verify import all_heads, trail_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.engine.parts import Parts
    from leasehold.store.audits import Head


# A deed is dated before it is committed: a moment is over for certain only some time later.
SETTLED_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    at: datetime
    targets: int
    digest: str


class Roots(Protocol):
    """Where roots are kept: not in the table, and not to be changed by whoever may write to the table."""

    def keep(self, root: Root) -> None:
        """Keep a root; the first of a moment stays."""

    def all(self) -> Iterable[Root]:
        """Every root that was kept, the oldest first."""


def root_at(at: datetime, parts: Parts) -> Root:
    """The root as of a moment that has passed."""
    digest, targets = hashlib.sha256(), 0
    for head in all_heads(parts):
        known = head.digest if head.at <= at else _head_at(head, at, parts)
        if known is not None:
            digest.update(f"{len(head.target)}:{head.target} {known}\n".encode())
            targets += 1
    return Root(at=at, targets=targets, digest=digest.hexdigest())


def keep_root(parts: Parts, roots: Roots) -> Root:
    root = root_at(parts.clock.now() - SETTLED_AFTER, parts)
    roots.keep(root)
    return root


def broken_roots(parts: Parts, roots: Iterable[Root]) -> list[Root]:
    """The roots that the table no longer leads to: something that was on record then has been changed or removed."""
    return [root for root in roots if root_at(root.at, parts) != root]


def _head_at(head: Head, at: datetime, parts: Parts) -> str | None:
    """Where a chain that has grown since ended at that moment; None if it had not begun."""
    records = {record.previous: record for record in trail_of(head.target, parts)}
    reached = ""
    while (record := records.get(reached)) is not None and record.deed.at <= at:
        reached = record.head
    return reached or None
