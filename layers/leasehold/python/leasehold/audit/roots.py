"""Roots: a hash over every target and the head of its chain at one moment, kept outside of the table day by day.

They show what no single chain can: that a target was removed with all its entries, or that a chain was cut short
together with its head. A root is computed anew from what the table says today about its moment, so it can be checked at
any time; and where roots are kept, second versions, deletions and missing days are findings too.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import field
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.audit.records import AuditRecord, Head
    from leasehold.kernel.services import Services


# An entry is dated before it is committed: a moment is over for certain only some time later.
SETTLED_AFTER = timedelta(hours=1)
# The next root is kept a day after the last one, when its moment is settled. One that is later than this is missing.
_LATE = SETTLED_AFTER + timedelta(hours=6)
_A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    at: datetime
    targets: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRoots:
    """The roots of an archive as they were first written, the oldest first; and what is wrong with their keeping."""

    place: str
    roots: list[Root] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)


class Archive(Protocol):
    """Where roots are kept: not in the table, and not to be changed by whoever may write to the table."""

    def keep(self, root: Root) -> None:
        """Keep a root; the first of a moment stays."""

    def read(self) -> KeptRoots:
        """Every root that was kept."""


def root_at(at: datetime, services: Services) -> Root:
    """The root as of a moment that has passed."""
    (root,) = _roots_at([at], services)
    return root


def keep_root(services: Services, archive: Archive) -> Root:
    root = root_at(services.clock.now() - SETTLED_AFTER, services)
    archive.keep(root)
    return root


def check_roots(kept: KeptRoots, services: Services) -> list[Flaw]:
    """What is wrong with the roots, or with the table that they vouch for."""
    return [*kept.flaws, *_missing_days(kept.roots, services.clock.now()), *broken_roots(kept.roots, services)]


def broken_roots(roots: Sequence[Root], services: Services) -> Iterator[Flaw]:
    """The roots that the table no longer leads to: something that was on record then has been changed or removed."""
    for root, found in zip(roots, _roots_at([each.at for each in roots], services), strict=True):
        if found != root:
            yield Flaw(_name(root.at), "the trails of that day no longer lead to it")


def _missing_days(roots: Sequence[Root], now: datetime) -> Iterator[Flaw]:
    if not roots:
        return
    # Two neighbours are about a day apart, whenever in the night the function ran.
    for one, other in pairwise([*(root.at for root in roots), now - _LATE + _A_DAY / 2]):
        missing = one + _A_DAY
        while other - missing >= _A_DAY / 2:
            yield Flaw(_name(missing), "it is missing: nobody kept a root that day, or somebody removed it")
            missing += _A_DAY


def _roots_at(moments: Sequence[datetime], services: Services) -> list[Root]:
    """The roots of several moments, in one walk through all heads; of a chain that has grown since, its entries too."""
    digests, targets = [hashlib.sha256() for _ in moments], [0] * len(moments)
    for head in services.store.audits.heads():
        dates, heads = _history(head, services) if any(head.at > at for at in moments) else ([head.at], [head.digest])
        for position, at in enumerate(moments):
            known = bisect_right(dates, at)
            if known:
                digests[position].update(f"{len(head.target)}:{head.target} {heads[known - 1]}\n".encode())
                targets[position] += 1
    return [
        Root(at=at, targets=count, digest=digest.hexdigest())
        for at, count, digest in zip(moments, targets, digests, strict=True)
    ]


def _history(head: Head, services: Services) -> tuple[list[datetime], list[str]]:
    """When a chain had which head, from its beginning on."""
    following = {entry.previous: entry for entry in services.store.audits.trail(head.target)}
    dates: list[datetime] = []
    heads: list[str] = []
    reached = ""
    while (entry := following.pop(reached, None)) is not None:
        reached = entry.head
        dates.append(max(entry.audit_entry.at, dates[-1]) if dates else entry.audit_entry.at)
        heads.append(reached)
    return dates, heads


def _name(at: datetime) -> str:
    return f"root of {at.date()}"


# Of a target that is acted on while it is verified.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with the trail of one target."""

    target: str
    problem: str


def verify_all(services: Services) -> Iterator[tuple[str, list[Flaw]]]:
    """Every target with its flaws, one after the other; most have none."""
    for head in services.store.audits.heads():
        yield head.target, verify(head.target, head.digest, services)


def verify(target: str, head: str, services: Services) -> list[Flaw]:
    """What is wrong with a trail; somebody who acts on the target meanwhile is no flaw of it."""
    flaws: list[Flaw] = []
    for _ in range(_TRIES):
        flaws = [Flaw(target, problem) for problem in _problems(services.store.audits.trail(target), head)]
        seen, head = head, services.store.audits.head(target) if flaws else head
        if not flaws or head == seen:
            return flaws
    return flaws


def _problems(records: Sequence[AuditRecord], head: str) -> Iterator[str]:
    for record in records:
        if not record.is_sound:
            yield f"the record of {record.audit_entry.action} at {record.audit_entry.at.isoformat()} was edited"
    following = {record.previous: record for record in records}
    if len(following) < len(records):
        yield "two records follow the same one"
    reached, count = "", 0
    before: AuditRecord | None = None
    while (found := following.get(reached)) is not None and count <= len(records):
        if before is not None and found.audit_entry.at < before.audit_entry.at:
            yield f"the record of {found.audit_entry.action} at {found.audit_entry.at.isoformat()} is out of order"
        reached, before, count = found.head, found, count + 1
    if count < len(records):
        yield f"a record is missing after {before.audit_entry.action if before else 'the start'}"
    if reached != head:
        yield "the trail does not end where its head says: its last records are missing"
