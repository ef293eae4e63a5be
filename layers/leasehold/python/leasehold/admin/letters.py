"""Open dead letters, the newest first. Resolved ones are in no index: they are found by their id."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.admin.budget import Budget
from leasehold.admin.filters import check_range, fingerprint, is_within
from leasehold.admin.legs import OPEN_LETTERS, OPEN_LETTERS_OF_TYPE, Walk
from leasehold.admin.pages import Order, Page, Position, check_limit, decode_position, encode_cursor
from leasehold.admin.walking import walk
from leasehold.domain.instants import instant, to_text
from leasehold.domain.job_type import parse_job_type
from leasehold.domain.lean import dataclass
from leasehold.engine.trust import is_trusted_letter
from leasehold.store import keys
from leasehold.store.records import OPEN, dead_letter_of
from leasehold.store.unreadable import read_each

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.ids import JobId
    from leasehold.engine.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
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
    def fingerprint(self) -> str:
        return fingerprint("letters", self.job_type, self.failed_from, self.failed_to)

    def matches(self, letter: DeadLetter) -> bool:
        is_of_type = self.job_type in {None, letter.job_type}
        return letter.is_open and is_of_type and is_within(letter.failed_at, self.failed_from, self.failed_to)


def list_letters(wanted: LetterFilter, parts: Parts, *, limit: object, cursor: str | None) -> Page[DeadLetter]:
    leg = Walk(
        name="letters",
        source=OPEN_LETTERS if wanted.job_type is None else OPEN_LETTERS_OF_TYPE,
        order=Order.FAILED,
        partitions=(OPEN if wanted.job_type is None else wanted.job_type,),
        first=to_text(wanted.failed_from) if wanted.failed_from else None,
        last=to_text(wanted.failed_to) if wanted.failed_to else None,
    )
    most, start = check_limit(limit), decode_position(cursor, wanted.fingerprint, leg)
    table = parts.store.table
    stretch = walk(table, leg, start, most, Budget())
    listed = [cast("JobId", record["id"]) for record in stretch.records]
    read = read_each(table.get_many([keys.dead_letter(job_id) for job_id in listed]), dead_letter_of)
    found = {letter.id: letter for letter in read.items if is_trusted_letter(letter, parts)}
    end = stretch.below
    return Page(
        items=tuple(found[each] for each in listed if each in found and wanted.matches(found[each])),
        cursor=None if end is None else encode_cursor(Position(leg.name, end), wanted.fingerprint),
        order=leg.order,
        searched=stretch.searched,
        reached=None if end is None else leg.source.time_of(end),
        unreadable=tuple(read.unreadable),
    )
