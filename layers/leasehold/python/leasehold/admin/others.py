"""Dead letters, groups and audit entries, the newest first. Resolved dead letters are in no index, but have an id."""

from __future__ import annotations

import re
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
)
from leasehold.admin.scanning import (
    ENDED_JOBS,
    OPEN_DEAD_LETTERS,
    OPEN_DEAD_LETTERS_OF_TYPE,
    Budget,
    IndexScan,
    Source,
    read_page,
)
from leasehold.audit.keys import audit_partition, audit_record_key
from leasehold.audit.records import ALL, audit_record_of, dead_letter_target
from leasehold.audit.roots import check_roots, verify, verify_all
from leasehold.groups.records import GROUP, LISTED, group_key, group_of, group_of_partition
from leasehold.kernel import partitions
from leasehold.kernel.dead_letter import OPEN, dead_letter_of
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import JOBS
from leasehold.kernel.times import instant
from leasehold.kernel.trust import is_trusted_dead_letter
from leasehold.kernel.unreadable import read_each
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.admin.scanning import ScanPage
    from leasehold.audit.records import AuditRecord
    from leasehold.audit.roots import Flaw, KeptRoots
    from leasehold.groups.model import Group
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.unreadable import Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """The range is of when they failed; it includes its start and excludes its end."""

    job_type: str | None = None
    failed_from: datetime | None = None
    failed_to: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("failed_from", "failed_to"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, instant(value, what=name))
        if self.job_type is not None:
            parse_job_type(self.job_type)
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
        order=Order.FAILED,
        partitions=(OPEN if wanted.job_type is None else wanted.job_type,),
        first=to_text(wanted.failed_from) if wanted.failed_from else None,
        last=to_text(wanted.failed_to) if wanted.failed_to else None,
    )
    most, start = check_limit(limit), decode_position(cursor, wanted.fingerprint, scan)
    table = services.store.table
    page = read_page(table, scan, start, most, Budget())
    listed = [cast("JobId", record["id"]) for record in page.records]
    read = read_each(table.get_many([partitions.dead_letter(job_id) for job_id in listed]), dead_letter_of)
    found = {dead_letter.id: dead_letter for dead_letter in read.items if is_trusted_dead_letter(dead_letter, services)}
    items = [found[each] for each in listed if each in found and wanted.matches(found[each])]
    return _page_of(scan, page, items, read.unreadable, wanted.fingerprint)


def _page_of[Item](
    scan: IndexScan, page: ScanPage, items: Sequence[Item], unreadable: Sequence[Unreadable], mark: str
) -> Page[Item]:
    end = page.below
    return Page(
        items=tuple(items),
        cursor=None if end is None else encode_cursor(Position(scan.name, end), mark),
        order=scan.order,
        searched=page.searched,
        reached=None if end is None else scan.source.time_of(end),
        unreadable=tuple(unreadable),
    )


# The ended index lists groups too, in a lane of their own.
_SCAN = IndexScan(name="groups", source=ENDED_JOBS, order=Order.CREATED, partitions=(LISTED,))
_FINGERPRINT = fingerprint("groups")


def list_groups(services: Services, *, limit: object, cursor: str | None) -> Page[Group]:
    most, start = check_limit(limit), decode_position(cursor, _FINGERPRINT, _SCAN)
    if not services.deployment.registry().ended_index:
        raise InvalidOptionError(
            "ended_index = false",
            "this deployment has no ended index, from which groups are listed",
            "Deploy with it, or look at a group by its id.",
        )
    page = read_page(services.store.table, _SCAN, start, most, Budget())
    # Only a group's own key makes a group of what stands in this lane.
    own = [cast("str", record["PK"]) for record in page.records if record["SK"] == GROUP]
    listed = [group_id for each in own if (group_id := group_of_partition(each)) is not None]
    read = read_each(services.store.table.get_many([group_key(group_id) for group_id in listed]), group_of)
    found = {group.group_id: group for group in read.items}
    return _page_of(_SCAN, page, [found[each] for each in listed if each in found], read.unreadable, _FINGERPRINT)


_TRAIL = Source(table=JOBS, sort_key=re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)#[0-9a-f]{1,64}"))


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
        scan = _scan_of(target)
        mark = fingerprint("audit", target)
        most, start = check_limit(limit), decode_position(cursor, mark, scan)
        page = read_page(self._services.store.table, scan, start, most, Budget())
        listed = [(cast("str", each["PK"]), cast("str", each["SK"])) for each in page.records]
        records = self._services.store.table.get_many([audit_record_key(*each) for each in listed])
        read = read_each(records, lambda each: ((each["PK"], each["SK"]), audit_record_of(each)))
        found = dict(read.items)
        return _page_of(scan, page, [found[each] for each in listed if each in found], read.unreadable, mark)

    def verify(self, target: str | None = None) -> Iterator[tuple[str, list[Flaw]]]:
        """Each target with what is wrong with its trail: one, or all that anything was ever done to."""
        if target is None:
            yield from verify_all(self._services)
        else:
            yield target, verify(target, self._services.store.audits.head(target), self._services)

    def check_roots(self, kept: KeptRoots) -> list[Flaw]:
        """What is wrong with the daily roots: versions, missing days, and whether the table still leads to them."""
        return check_roots(kept, self._services)

    def root_bucket(self) -> str | None:
        """The bucket where a deployment keeps its daily roots; None where it keeps none."""
        registry = self._services.store.control.registry()
        return registry.audit_roots if registry else None


def _scan_of(target: str | None) -> IndexScan:
    if target is None:
        return IndexScan(name="audit", source=ENDED_JOBS, order=Order.CREATED, partitions=(ALL,))
    # A job's dead letter has its id: who looks for what happened to the one wants to see the redrive of the other.
    job_id = target.removeprefix("job#") if target.startswith("job#") else None
    targets = (target,) if job_id is None else (target, dead_letter_target(job_id))
    trails = tuple(audit_partition(each) for each in targets)
    return IndexScan(name="trail", source=_TRAIL, order=Order.CREATED, partitions=trails)
