"""The port of the store: a table of records under conditional writes, and nothing else.

Access patterns, keys and records are written once above it; an adapter only interprets the data below. That is why the
in-memory store that users test with and the DynamoDB store that they deploy cannot drift apart in what they mean.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from leasehold.kernel.errors import UnknownFormatError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypedDict, Unpack

    # Here, since no cold start needs it.
    class Asked(TypedDict, total=False):
        """What a query may say besides: else it reads a table from the first record on, the oldest first.

        after: the cursor of the page before.
        where: leaves out records that do not fit, after `limit` of them were read and paid for: a page may be empty and
            have a cursor.
        consistent: False costs half, for readers to whom the last second does not matter.
        """

        index: Index | None
        first: str | None
        last: str | None
        after: Record | None
        newest_first: bool
        where: Sequence[Condition]
        consistent: bool


type Attribute = str | int | bool | bytes | list[Attribute] | dict[str, Attribute]
type Record = dict[str, Attribute]
# An item of a caller's own transaction, as the low-level DynamoDB client takes it.
type ForeignItem = Mapping[str, object]


# The format of what is stored and handed over; the first is not written down, since every byte is billed. A release
# reads its own format and the one before it, and writes a new one only one release after it could first be read: so
# the release before can always take over again. See UPGRADING.md.
FORMAT = "leasehold_format"
FIRST_FORMAT = 1
READ_FORMATS = (1,)
WRITTEN_FORMAT = 1


def format_mark() -> dict[str, int]:
    return {} if WRITTEN_FORMAT == FIRST_FORMAT else {FORMAT: WRITTEN_FORMAT}


def check_format(record: Mapping[str, object], what: str) -> None:
    found = record.get(FORMAT, FIRST_FORMAT)
    if found not in READ_FORMATS:
        raise UnknownFormatError(what, found, READ_FORMATS)


class Key(NamedTuple):
    table: TableDefinition
    values: tuple[str, ...]

    @property
    def attributes(self) -> dict[str, str]:
        return dict(zip(self.table.key, self.values, strict=True))

    @property
    def is_absent(self) -> Missing:
        return Missing(self.table.key[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write a whole record, by default only where there is none."""

    key: Key
    record: Record
    conditions: tuple[Condition, ...] | None = None

    @property
    def is_insertion(self) -> bool:
        return self.conditions is None

    @property
    def guards(self) -> tuple[Condition, ...]:
        return (self.key.is_absent,) if self.conditions is None else self.conditions

    @property
    def item(self) -> Record:
        return {**self.key.attributes, **self.record}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    key: Key
    conditions: tuple[Condition, ...]
    sets: Mapping[str, Attribute] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    key: Key
    conditions: tuple[Condition, ...]


type Change = Put | Update | Delete


@dataclass(frozen=True, slots=True)
class Page:
    records: list[Record]
    # Where the next page begins; None when there is none.
    cursor: Record | None = None


class ConditionFailed(Exception):  # noqa: N818  an answer, not an error: callers decide what it means
    """The stored record is not what the writer saw. Nothing was written, unless an earlier try of this call did.

    `was_repeated`: a try before this answer was not answered, so what is stored may be the caller's own.
    """

    def __init__(self, current: Record | None, *, was_repeated: bool = False) -> None:
        super().__init__("the condition of a write did not hold")
        self.current, self.was_repeated = current, was_repeated


class StatementRefused(Exception):  # noqa: N818  an answer: make the change by itself instead
    """This engine, or this caller's rights, do not take the change as part of a batch. Nothing was written."""


class TransactionCancelled(Exception):  # noqa: N818
    """At least one condition of a transaction did not hold. Nothing was written.

    `failed` maps the position of each change whose condition failed to the record that is stored there.
    """

    def __init__(self, failed: Mapping[int, Record | None]) -> None:
        super().__init__(f"conditions failed at {sorted(failed)}")
        self.failed = dict(failed)


class Table(Protocol):
    """Both tables behind one port, since some transactions span them."""

    @property
    def name(self) -> str: ...

    def get(self, key: Key) -> Record | None:
        """Read one record, consistently."""

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        """Read the records that exist, consistently, in no particular order."""

    def query(self, table: TableDefinition, partition: str, *, limit: int, **asked: Unpack[Asked]) -> Page:
        """Read one page in sort order, bounds included: consistently from a table, eventually from an index."""

    def count(
        self, table: TableDefinition, partition: str, *, index: Index, last: str | None = None, limit: int
    ) -> int:
        """Count entries of an index, but no more than about `limit`."""

    def scan(self, table: TableDefinition) -> Iterator[Record]:
        """Every record of a table, in no order and not of one moment: for exports, never for the work on jobs."""

    def write(self, change: Change) -> Record:
        """Make one change and return the record after it (before it, for a delete)."""

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        """Insert each record where there is none, in as few calls as possible; one by one where batches are refused.

        Per record None, ConditionFailed (as below), or the error that stopped it.
        """

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        """Make each update by itself, in as few calls as possible, where it is plain (see `plain`).

        Per update None, ConditionFailed, StatementRefused, or the error that stopped it. In a batch ConditionFailed
        carries no record, which says nothing about whether there is one: ask by the write of this one change.
        """

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()) -> None:
        """Make all changes or none. The same token with the same changes within ten minutes makes them once.

        What `only_inserts` its new records needs no right that could replace one.
        """


@dataclass(frozen=True, slots=True)
class Seen:
    """Stands for what the writer saw before it wrote; bound to a value when the write is made."""

    name: str


@dataclass(frozen=True, slots=True)
class Exists:
    attribute: str


@dataclass(frozen=True, slots=True)
class Missing:
    attribute: str


@dataclass(frozen=True, slots=True)
class OneOf:
    attribute: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """With an attribute that is there: to one that is not, nothing compares."""

    sign = ""
    attribute: str
    value: object


class Equals(Comparison):
    sign = "="


class After(Comparison):
    """The attribute, a time, is later than the value."""

    sign = ">"


class NotAfter(Comparison):
    sign = "<="


class Above(Comparison):
    """The attribute, a number, is greater than the value."""

    sign = ">"


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[Condition, ...]


type Condition = Exists | Missing | Equals | OneOf | After | NotAfter | Above | AnyOf


def narrowed(condition: Condition) -> Condition:
    """A condition without a choice that is enough for this one: of a choice, the first alternative."""
    while isinstance(condition, AnyOf):
        condition = condition.conditions[0]
    return condition


def plain(update: Update) -> Update:
    """The same change under stronger conditions: of each choice the first alternative, and each count from nothing.

    Whom it lets in, the update itself would have let in, to the same effect. Whom it refuses, the update may still
    let in: the conditions of the update stay the one place that says what is right.
    """
    if _is_plain(update):
        return update
    conditions = (*map(narrowed, update.conditions), *map(Missing, update.adds))
    return replace(update, conditions=conditions, sets={**update.sets, **update.adds}, adds={})


def only_inserts(changes: Sequence[Change]) -> bool:
    """Whether these are insertions of new records, alone or with updates that could be statements of a batch."""
    return any(isinstance(each, Put) for each in changes) and all(
        each.is_insertion if isinstance(each, Put) else isinstance(each, Update) and _is_statement(each)
        for each in changes
    )


def _is_statement(update: Update) -> bool:
    """A statement updates what is there, and creates nothing."""
    return _is_plain(update) and not all(isinstance(each, Missing) for each in update.conditions)


def _is_plain(update: Update) -> bool:
    return not update.adds and not any(isinstance(each, AnyOf) for each in update.conditions)


def check_plain(updates: Sequence[Update]) -> None:
    for update in updates:
        if not _is_plain(update):
            raise TypeError(f"a batch takes no counts and no choices; make this update plain first: {update!r}")


class Index(NamedTuple):
    """A sparse index: only records that have both attributes are in it."""

    name: str
    partition: str
    sort: str
    projected: tuple[str, ...] = ()


class TableDefinition(NamedTuple):
    key: tuple[str, ...]
    indexes: tuple[Index, ...]
    ttl: str = "expires_at"


DUE_INDEX = Index("due", "due_lane", "due_key", projected=("job_type", "status", "concurrency_key", "priority"))
ENDED_INDEX = Index("ended", "ended_lane", "ended_key", projected=("job_type", "status"))
JOBS = TableDefinition(key=("PK", "SK"), indexes=(DUE_INDEX, ENDED_INDEX))

BY_DATE_INDEX = Index("by_date", "open", "open_key", projected=("job_type", "reported_at"))
BY_TYPE_INDEX = Index("by_type", "open_type", "open_key")
DEAD_LETTERS = TableDefinition(key=("id",), indexes=(BY_DATE_INDEX, BY_TYPE_INDEX))

MAX_TOKEN_LENGTH = 36


def content_token(token: str, content: object) -> str:
    """A caller's token made one with what it asks for.

    DynamoDB refuses a token that comes back with other content (IdempotentParameterMismatch). Who was refused, looked
    again and now asks for something else makes another transaction, whose own conditions decide about it.
    """
    return request_token(token, repr(content))


def request_token(*parts: str) -> str:
    """The same write gives the same token, another write another one, in the 36 characters that DynamoDB allows."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:MAX_TOKEN_LENGTH]
