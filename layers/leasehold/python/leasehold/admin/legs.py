"""The parts of a listing, as data: which partitions are merged into one order, and what may be left out of them."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, cast

from leasehold.domain.ids import JobId, job_id_at
from leasehold.domain.instants import from_text
from leasehold.domain.lean import dataclass
from leasehold.store.definition import BY_DATE_INDEX, BY_TYPE_INDEX, DEAD_LETTERS, DUE_INDEX, ENDED_INDEX, JOBS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.admin.pages import Order
    from leasehold.domain.conditions import Condition
    from leasehold.domain.group import Group
    from leasehold.store.definition import Index, TableDefinition
    from leasehold.store.table import Record

# With the registry and the jobs themselves, which an index does not hold, that makes ten requests.
MAX_PARTITIONS = 8

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table's own order, or that of an index: its sort keys are unique over all partitions, or only within each."""

    table: TableDefinition
    index: Index | None = None
    # What a sort key looks like; where it has a time, that is the group.
    sort_key: re.Pattern[str]

    @property
    def sort(self) -> str:
        return self.index.sort if self.index else self.table.key[1]

    def time_of(self, sort_key: str) -> datetime | None:
        found = self.sort_key.fullmatch(sort_key)
        return from_text(found[1]) if found and found.re.groups else None


TABLE_ORDER = Source(table=JOBS, sort_key=re.compile(rf"scheduled#({_TIME})#[0-9a-f-]{{36}}"))
DUE_JOBS = Source(table=JOBS, index=DUE_INDEX, sort_key=re.compile(rf"({_TIME})#[0-9a-z]+#.{{1,600}}"))
ENDED_JOBS = Source(table=JOBS, index=ENDED_INDEX, sort_key=re.compile(rf"({_TIME})#.{{1,600}}"))
DEDUP_RECORDS = Source(table=JOBS, sort_key=re.compile(r"-|\d{4}-\d\d-\d\d"))
OPEN_LETTERS = Source(table=DEAD_LETTERS, index=BY_DATE_INDEX, sort_key=re.compile(rf"({_TIME})#[0-9a-f-]{{36}}"))
OPEN_LETTERS_OF_TYPE = Source(table=DEAD_LETTERS, index=BY_TYPE_INDEX, sort_key=OPEN_LETTERS.sort_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Partitions that are read together, the newest first. Legs follow each other in the order of their names."""

    name: str
    source: Source
    order: Order
    partitions: tuple[str, ...]
    first: str | None = None
    # Excluded: no sort key equals a time, or the date of one, alone.
    last: str | None = None
    where: tuple[Condition, ...] = ()
    # Whether an entry can match, by what the index shows of it.
    keep: Callable[[Record], bool] = field(default=lambda _: True, repr=False)
    # Whether `where` or `keep` may leave something out.
    is_filtered: bool = False

    def is_position(self, text: str) -> bool:
        return self.source.sort_key.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The members of a group, whose ids follow from their numbers; the last first."""

    name: str
    group: Group
    order: Order

    def is_position(self, text: str) -> bool:
        return re.fullmatch(r"\d{1,7}", text) is not None


type Leg = Walk | Members


def job_id_of_entry(record: Record) -> JobId | None:
    """The job that an entry of an index, or a dedup record, stands for; None if there can be no such job."""
    names = ("job_pk", "job_sk") if "job_sk" in record else ("PK", "SK")
    pk, sk = (cast("str", record.get(name, "")) for name in names)
    return job_id_at(pk, sk)
