"""What a listing is asked for. A filter means the same whichever index answers it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from leasehold.groups.model import parse_group_id
from leasehold.kernel.errors import InvalidInputError, InvalidOptionError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import After, Equals, NotAfter, OneOf
from leasehold.kernel.times import instant
from leasehold.kernel.transitions import ENDED, JobStatus
from leasehold.kernel.type_options import DELIVERY, parse_key, whole_number
from leasehold.lean import dataclass
from leasehold.schedules.model import parse_schedule_name
from leasehold.templates.model import parse_template_name

if TYPE_CHECKING:
    from leasehold.admin.scanning import IndexScan
    from leasehold.kernel.job import Job
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.table import Condition
    from leasehold.kernel.unreadable import Unreadable


_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Every field that is set must hold. Ranges include their start and exclude their end.

    job_type: none given means all but the system's own, the deliveries of webhooks.
    statuses: any of them; none given means all six.
    scheduled_from, scheduled_to: when the job was first meant to run.
    created_from, created_to: when it was made.
    ended_from, ended_to: when it ended; jobs that have not ended are then left out.
    """

    job_type: str | None = None
    statuses: frozenset[JobStatus] = frozenset()
    scheduled_from: datetime | None = None
    scheduled_to: datetime | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    ended_from: datetime | None = None
    ended_to: datetime | None = None
    dedup_key: str | None = None
    concurrency_key: str | None = None
    group_id: str | None = None
    schedule: str | None = None
    template: str | None = None

    def __post_init__(self) -> None:
        parse_given(self, _PARSED)
        object.__setattr__(self, "statuses", _parse_statuses(self.statuses))
        for name in _RANGES:
            check_range(name, *self._range(name))

    def _range(self, name: str) -> tuple[datetime | None, datetime | None]:
        return getattr(self, f"{name}_from"), getattr(self, f"{name}_to")

    @property
    def asked(self) -> frozenset[str]:
        """The names of the fields that are set, with each range under one name."""
        names = {each.name for each in fields(self) if getattr(self, each.name) not in {None, frozenset()}}
        return frozenset(name.removesuffix("_from").removesuffix("_to") for name in names)

    @property
    def wanted_statuses(self) -> frozenset[JobStatus]:
        """Those that can match: an end date leaves out what has not ended."""
        chosen = self.statuses or frozenset(JobStatus)
        return chosen & ENDED if "ended" in self.asked else chosen

    @property
    def fingerprint(self) -> str:
        """Tells filters apart, so that a cursor of one is not taken for one of another."""
        values = (getattr(self, each.name) for each in fields(self))
        return fingerprint(*(sorted(map(str, each)) if isinstance(each, frozenset) else each for each in values))

    def matches(self, job: Job) -> bool:
        """What the filter means, for one job; whatever an index says, this decides."""
        dedup_key = job.dedup.key if job.dedup else None
        return (
            self.is_of_type(job.job_type)
            and job.status in self.wanted_statuses
            and self.schedules(job.scheduled_for)
            and is_within(job.created_at, *self._range("created"))
            and is_within(job.completed_at, *self._range("ended"))
            and self.dedup_key in {None, dedup_key}
            and all(getattr(self, name) in {None, getattr(job, name)} for name in _SAME_ON_THE_JOB)
        )

    def is_of_type(self, job_type: str) -> bool:
        """The type that is asked for, or else any but the system's own."""
        return job_type != DELIVERY if self.job_type is None else job_type == self.job_type

    def types(self, registry: Registry) -> list[str]:
        """The types whose jobs can match, as far as they are deployed or named."""
        return [self.job_type] if self.job_type is not None else sorted(filter(self.is_of_type, registry.types))

    def schedules(self, scheduled_for: datetime) -> bool:
        """Whether a job of that time is within the range; its id alone says which time that is."""
        return is_within(scheduled_for, *self._range("scheduled"))

    def conditions(self) -> tuple[Condition, ...]:
        """What a store can leave out by itself; a plan takes an index only if that projects what is asked for."""
        found: list[Condition] = [Equals(name, value) for name in _EQUAL if (value := getattr(self, name)) is not None]
        if self.wanted_statuses != frozenset(JobStatus):
            found.append(OneOf("status", tuple(sorted(map(str, self.wanted_statuses)))))
        for attribute, name in (("created_at", "created"), ("completed_at", "ended")):
            start, end = self._range(name)
            if start is not None:
                found.append(After(attribute, to_text(start - _MILLISECOND)))
            if end is not None:
                found.append(NotAfter(attribute, to_text(end - _MILLISECOND)))
        return tuple(found)


_SAME_ON_THE_JOB = ("concurrency_key", "group_id", "schedule", "template")
_EQUAL = ("job_type", "dedup_key", *_SAME_ON_THE_JOB)
_RANGES = ("scheduled", "created", "ended")
_PARSED: dict[str, Callable[[Any], object]] = {
    "job_type": parse_job_type,
    **{name: partial(instant, what=name) for each in _RANGES for name in (f"{each}_from", f"{each}_to")},
    "dedup_key": partial(parse_key, what="dedup key"),
    "concurrency_key": partial(parse_key, what="concurrency key"),
    "group_id": parse_group_id,
    "schedule": parse_schedule_name,
    "template": parse_template_name,
}


def parse_given(wanted: object, parsers: Mapping[str, Callable[[Any], object]]) -> None:
    """What is given of a filter, as it is compared; whatever cannot be is refused."""
    for name, parse in parsers.items():
        value = getattr(wanted, name)
        if value is not None:
            object.__setattr__(wanted, name, parse(value))


def fingerprint(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def _parse_statuses(statuses: object) -> frozenset[JobStatus]:
    given = [statuses] if isinstance(statuses, str) else statuses
    try:
        if not isinstance(given, Iterable):
            raise ValueError
        return frozenset(JobStatus(each) for each in given)
    except ValueError:
        shown = sorted(map(str, given)) if isinstance(given, Iterable) else given
        raise InvalidOptionError(shown, "this is no status of jobs", f"Use some of {', '.join(JobStatus)}.") from None


def check_range(what: str, start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and start >= end:
        raise InvalidOptionError(
            (to_text(start), to_text(end)), f"{what}_from is not before {what}_to", "Exchange them, or leave one out."
        )


def is_within(value: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    if value is None:
        return start is None and end is None
    return (start is None or start <= value) and (end is None or value < end)


DEFAULT_LIMIT = 50
# As many as one BatchGetItem can fetch.
MAX_LIMIT = 100

_VERSION = 1
_LONGEST = 2048
_LONGEST_SORT_KEY = 1024


class Order(StrEnum):
    """By what a listing is ordered, the newest (latest, highest) first."""

    SCHEDULED = "scheduled_for"
    ENDED = "ended_at"
    DUE = "due_at"
    MEMBER = "member"
    DEDUP_WINDOW = "dedup_window"
    FAILED = "failed_at"
    CREATED = "created_at"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page[Item]:
    """`cursor` is None after the last page, and only then: a page may be short, or empty, and have one.

    order: by what the items of this page are ordered.
    is_ordered: whether the pages together are in that order too, or only each part of the listing in itself.
    searched: how many entries were read for this page.
    reached: how far back the search has come; None where that is no date, or the listing is over.
    unreadable: what was found and cannot be shown; it stands in nobody's way.
    """

    items: tuple[Item, ...]
    cursor: str | None = None
    order: Order = Order.SCHEDULED
    is_ordered: bool = True
    searched: int = 0
    reached: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()


class Position(NamedTuple):
    """Where a page ended: in which scan of the listing, and at which sort key, which the next page starts below."""

    scan: str
    below: str | None


def encode_cursor(position: Position, fingerprint: str) -> str:
    text = json.dumps([_VERSION, fingerprint, *position], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode_cursor(cursor: object, fingerprint: str) -> Position:
    """A cursor names no partition: what may be read comes from the filter alone, so a forged one reads nothing else."""
    match _decoded(cursor):
        case [1, str(owner), str(scan), None | str() as below] if owner == fingerprint and _is_short(below or ""):
            return Position(scan, below)
        case [1, str(owner), str(), None | str()] if owner != fingerprint:
            raise InvalidCursorError(cursor, "this cursor belongs to another listing", _FIX)
        case _:
            raise InvalidCursorError(cursor, "this is not a cursor", _FIX)


def decode_position(cursor: str | None, fingerprint: str, scan: IndexScan) -> str | None:
    """Where a listing of one scan goes on; None at its beginning."""
    if cursor is None:
        return None
    name, below = decode_cursor(cursor, fingerprint)
    if name != scan.name or below is None or not scan.is_position(below):
        raise pointless_cursor(cursor)
    return below


def pointless_cursor(cursor: str) -> InvalidCursorError:
    return InvalidCursorError(cursor, "this cursor points nowhere", _FIX)


def check_limit(limit: object) -> int:
    return whole_number(limit, "the limit of a page", MAX_LIMIT, f"Use {DEFAULT_LIMIT}.")


def _is_short(sort_key: str) -> bool:
    """DynamoDB takes no longer ones, and nothing that is not Unicode."""
    try:
        return len(sort_key.encode()) <= _LONGEST_SORT_KEY
    except UnicodeEncodeError:
        return False


_FIX = "Pass the cursor of the last page of the same listing, or none for its beginning."


def _decoded(cursor: object) -> object:
    if not isinstance(cursor, str) or len(cursor) > _LONGEST:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None


class InvalidCursorError(InvalidInputError, code="invalid_cursor"):
    """A cursor of a listing that is not one, or is another listing's."""
