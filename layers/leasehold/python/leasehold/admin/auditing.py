"""The admin service: the audit trail, listed and verified."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from leasehold.admin.budget import Budget
from leasehold.admin.filters import fingerprint
from leasehold.admin.legs import ENDED_JOBS, Source, Walk
from leasehold.admin.pages import (
    DEFAULT_LIMIT,
    Order,
    Page,
    Position,
    check_limit,
    decode_position,
    encode_cursor,
)
from leasehold.admin.walking import walk
from leasehold.audit.roots import check_roots
from leasehold.audit.verify import verify, verify_all
from leasehold.engine.deeds import dead_letter_target
from leasehold.store import keys
from leasehold.store.audits import ALL, audit_record_of
from leasehold.store.definition import JOBS
from leasehold.store.unreadable import read_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.audit.roots import KeptRoots
    from leasehold.audit.verify import Flaw
    from leasehold.engine.parts import Parts
    from leasehold.store.audits import AuditRecord

_TRAIL = Source(table=JOBS, sort_key=re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)#[0-9a-f]{1,64}"))


class Auditor:
    """Who did what, when and why. Nothing here changes anything."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def records(
        self, target: str | None = None, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[AuditRecord]:
        """The newest first: of one target (`job#<id>`, `schedule#<name>`, `control#halt`, …), or of all.

        With a job's own come those of its dead letter.

        All records are listed from the ended index; without it, ask for one target.
        """
        leg = _leg_of(target)
        mark = fingerprint("audit", target)
        most, start = check_limit(limit), decode_position(cursor, mark, leg)
        stretch = walk(self._parts.store.table, leg, start, most, Budget())
        listed = [(cast("str", each["PK"]), cast("str", each["SK"])) for each in stretch.records]
        records = self._parts.store.table.get_many([keys.audit_record(*each) for each in listed])
        read = read_each(records, lambda each: ((each["PK"], each["SK"]), audit_record_of(each)))
        found = dict(read.items)
        end = stretch.below
        return Page(
            items=tuple(found[each] for each in listed if each in found),
            cursor=None if end is None else encode_cursor(Position(leg.name, end), mark),
            order=leg.order,
            searched=stretch.searched,
            reached=None if end is None else leg.source.time_of(end),
            unreadable=tuple(read.unreadable),
        )

    def verify(self, target: str | None = None) -> Iterator[tuple[str, list[Flaw]]]:
        """Each target with what is wrong with its trail: one, or all that anything was ever done to."""
        if target is None:
            yield from verify_all(self._parts)
        else:
            yield target, verify(target, self._parts.store.audits.head(target), self._parts)

    def check_roots(self, kept: KeptRoots) -> list[Flaw]:
        """What is wrong with the daily roots: versions, missing days, and whether the table still leads to them."""
        return check_roots(kept, self._parts)

    def root_bucket(self) -> str | None:
        """The bucket where a deployment keeps its daily roots; None where it keeps none."""
        registry = self._parts.store.switchboard.registry()
        return registry.audit_roots if registry else None


def _leg_of(target: str | None) -> Walk:
    if target is None:
        return Walk(name="audit", source=ENDED_JOBS, order=Order.CREATED, partitions=(ALL,))
    # A job's dead letter has its id: who looks for what happened to the one wants to see the redrive of the other.
    job_id = target.removeprefix("job#") if target.startswith("job#") else None
    targets = (target,) if job_id is None else (target, dead_letter_target(job_id))
    partitions = tuple(keys.audit_partition(each) for each in targets)
    return Walk(name="trail", source=_TRAIL, order=Order.CREATED, partitions=partitions)
