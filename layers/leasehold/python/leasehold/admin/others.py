"""Dead letters, groups and audit entries, the newest first. Resolved dead letters are in no index, but have an id."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from leasehold.admin.pages import (
    DEFAULT_LIMIT,
    Order,
    Page,
    Position,
    check_limit,
    check_range,
    decode_position,
    encode_cursor,
    fingerprint,
    is_within,
    parse_given,
)
from leasehold.admin.scanning import (
    AUDIT_TRAIL,
    ENDED_JOBS,
    OPEN_DEAD_LETTERS,
    OPEN_DEAD_LETTERS_OF_TYPE,
    Budget,
    IndexScan,
    read_page,
)
from leasehold.audit.keys import audit_partition, audit_record_key
from leasehold.audit.records import ALL, audit_record_of, dead_letter_target
from leasehold.audit.roots import verify, verify_all
from leasehold.groups.records import LISTED, check_listed, group_of, listed_group_key
from leasehold.kernel import partitions
from leasehold.kernel.dead_letter import OPEN, dead_letter_of
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import to_text
from leasehold.kernel.times import instant
from leasehold.kernel.unreadable import read_each
from leasehold.lean import dataclass
from leasehold.operate.dead_letters import is_trusted_dead_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.audit.records import AuditRecord
    from leasehold.audit.roots import Flaw
    from leasehold.groups.model import Group
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Key, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """The range is of when they failed; it includes its start and excludes its end."""

    job_type: str | None = None
    failed_from: datetime | None = None
    failed_to: datetime | None = None

    def __post_init__(self) -> None:
        times = {name: partial(instant, what=name) for name in ("failed_from", "failed_to")}
        parse_given(self, {**times, "job_type": parse_job_type})
        check_range("failed", self.failed_from, self.failed_to)

    @property
    def as_options(self) -> dict[str, Any]:
        """As `queue.operator.dead_letters` and its neighbours take it."""
        return {"job_type": self.job_type, "start": self.failed_from, "end": self.failed_to}

    @property
    def fingerprint(self) -> str:
        return fingerprint("dead_letters", self.job_type, self.failed_from, self.failed_to)

    def matches(self, dead_letter: DeadLetter) -> bool:
        is_of_type = self.job_type in {None, dead_letter.job_type}
        return dead_letter.is_open and is_of_type and is_within(dead_letter.failed_at, self.failed_from, self.failed_to)


def list_dead_letters(
    wanted: DeadLetterFilter, services: Services, *, limit: object, cursor: str | None
) -> Page[DeadLetter]:
    scan = IndexScan(
        name="dead_letters",
        source=OPEN_DEAD_LETTERS if wanted.job_type is None else OPEN_DEAD_LETTERS_OF_TYPE,
        partitions=(OPEN if wanted.job_type is None else wanted.job_type,),
        first=to_text(wanted.failed_from) if wanted.failed_from else None,
        last=to_text(wanted.failed_to) if wanted.failed_to else None,
    )
    page = _listed(scan, wanted.fingerprint, services, _dead_letter_key, dead_letter_of, limit=limit, cursor=cursor)
    items = (each for each in page.items if wanted.matches(each) and is_trusted_dead_letter(each, services))
    return replace(page, items=tuple(items))


def _dead_letter_key(entry: Record) -> Key:
    return partitions.dead_letter(cast("JobId", entry["id"]))


def _listed[Item](
    scan: IndexScan,
    mark: str,
    services: Services,
    key: Callable[[Record], Key | None],
    read: Callable[[Record], Item],
    *,
    limit: object,
    cursor: str | None,
) -> Page[Item]:
    """What the entries of an index stand for (`key`), as it is now; `mark` tells this listing from others."""
    most, start = check_limit(limit), decode_position(cursor, mark, scan)
    page = read_page(services.store.table, scan, start, most, Budget())
    keys = [named for _, entry in page.entries if (named := key(entry)) is not None]
    things = read_each(services.store.table.get_many(keys), lambda each: (each, read(each)))
    found = {tuple(record[name] for name in keys[0].table.key): item for record, item in things.items}
    return Page(
        items=tuple(found[each.values] for each in keys if each.values in found),
        cursor=None if page.below is None else encode_cursor(Position(scan.name, page.below), mark),
        order=scan.source.order,
        searched=page.searched,
        reached=None if page.below is None else scan.source.time_of(page.below),
        unreadable=tuple(things.unreadable),
    )


# The ended index lists groups and audit entries too, in lanes of their own.
_BY_CREATION = replace(ENDED_JOBS, order=Order.CREATED)
_SCAN = IndexScan(name="groups", source=_BY_CREATION, partitions=(LISTED,))
_FINGERPRINT = fingerprint("groups")


def list_groups(services: Services, *, limit: object, cursor: str | None) -> Page[Group]:
    check_listed(services)
    return _listed(_SCAN, _FINGERPRINT, services, listed_group_key, group_of, limit=limit, cursor=cursor)


class Auditor:
    """Who did what, when and why. Nothing here changes anything."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def records(
        self, target: str | None = None, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
    ) -> Page[AuditRecord]:
        """The newest first: of one target (`job#<id>`, `schedule#<name>`, `control#halt`, …), or of all.

        With a job's own come those of its dead letter.

        All records are listed from the ended index; without it, ask for one target.
        """
        mark = fingerprint("audit", target)
        return _listed(_scan_of(target), mark, self._services, _record_key, audit_record_of, limit=limit, cursor=cursor)

    def verify(self, target: str | None = None) -> Iterator[tuple[str, list[Flaw]]]:
        """Each target with what is wrong with its trail: one, or all that anything was ever done to."""
        if target is None:
            yield from verify_all(self._services)
        else:
            yield target, verify(target, self._services.store.audits.head(target), self._services)

    def root_bucket(self) -> str | None:
        """The bucket where a deployment keeps its daily roots; None where it keeps none."""
        registry = self._services.store.control.registry()
        return registry.audit_roots if registry else None


def _record_key(entry: Record) -> Key:
    return audit_record_key(cast("str", entry["PK"]), cast("str", entry["SK"]))


def _scan_of(target: str | None) -> IndexScan:
    if target is None:
        return IndexScan(name="audit", source=_BY_CREATION, partitions=(ALL,))
    # A job's dead letter has its id: who looks for what happened to the one wants to see the redrive of the other.
    job_id = target.removeprefix("job#") if target.startswith("job#") else None
    targets = (target,) if job_id is None else (target, dead_letter_target(job_id))
    trails = tuple(audit_partition(each) for each in targets)
    return IndexScan(name="trail", source=AUDIT_TRAIL, partitions=trails)
