"""Verify: whether an audit trail is as it was written.

Each record holds the hash of the one before it, and the head of the chain stands apart: an edited record does not fit
its own hash, a removed or reordered one breaks the chain, and a chain that was cut short does not end at its head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.engine.parts import Parts
    from leasehold.store.audits import AuditRecord, Head
    from leasehold.store.table import Record

_PAGE = 500
# Of a target that is acted on while it is verified.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with the trail of one target."""

    target: str
    problem: str


def verify_all(parts: Parts) -> Iterator[tuple[str, list[Flaw]]]:
    """Every target with its flaws, one after the other; most have none."""
    for head in all_heads(parts):
        yield head.target, verify(head.target, head.digest, parts)


def verify(target: str, head: str, parts: Parts) -> list[Flaw]:
    """What is wrong with a trail; somebody who acts on the target meanwhile is no flaw of it."""
    flaws: list[Flaw] = []
    for _ in range(_TRIES):
        flaws = [Flaw(target, problem) for problem in _problems(trail_of(target, parts), head)]
        seen, head = head, parts.store.audits.head(target) if flaws else head
        if not flaws or head == seen:
            return flaws
    return flaws


def all_heads(parts: Parts) -> Iterator[Head]:
    return parts.store.audits.heads()


def trail_of(target: str, parts: Parts) -> list[AuditRecord]:
    records: list[AuditRecord] = []
    cursor: Record | None = None
    while True:
        page = parts.store.audits.trail(target, limit=_PAGE, after=cursor)
        records += page.records
        cursor = page.cursor
        if cursor is None:
            return records


def _problems(records: Sequence[AuditRecord], head: str) -> Iterator[str]:
    for record in records:
        if not record.is_sound:
            yield f"the record of {record.deed.action} at {record.deed.at.isoformat()} was edited"
    following = {record.previous: record for record in records}
    if len(following) < len(records):
        yield "two records follow the same one"
    reached, count = "", 0
    before: AuditRecord | None = None
    while (found := following.get(reached)) is not None and count <= len(records):
        if before is not None and found.deed.at < before.deed.at:
            yield f"the record of {found.deed.action} at {found.deed.at.isoformat()} is out of order"
        reached, before, count = found.head, found, count + 1
    if count < len(records):
        yield f"a record is missing after {before.deed.action if before else 'the start'}"
    if reached != head:
        yield "the trail does not end where its head says: its last records are missing"
