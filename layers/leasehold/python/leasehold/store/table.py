"""The port of the store: a table of records under conditional writes, and nothing else.

Access patterns, keys and records are written once above it; an adapter only interprets the data below. That is why the
in-memory store that users test with and the DynamoDB store that they deploy cannot drift apart in what they mean.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from leasehold.domain.conditions import Missing
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.domain.conditions import Condition
    from leasehold.store.definition import Index, TableDefinition

type Attribute = str | int | bool | bytes | list[Attribute] | dict[str, Attribute]
type Record = dict[str, Attribute]
# An item of a caller's own transaction, as the low-level DynamoDB client takes it.
type ForeignItem = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Key:
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
        self.current = current
        self.was_repeated = was_repeated


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

    def query(
        self,
        table: TableDefinition,
        partition: str,
        *,
        index: Index | None = None,
        first: str | None = None,
        last: str | None = None,
        limit: int,
        after: Record | None = None,
        newest_first: bool = False,
        where: Sequence[Condition] = (),
        consistent: bool = True,
    ) -> Page:
        """Read one page in sort order, bounds included: consistently from a table, eventually from an index.

        where: leaves out records that do not fit, after `limit` of them were read and paid for: a page may be empty
            and have a cursor.
        consistent: False costs half, for readers to whom the last second does not matter.
        """

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
        """Make all changes or none. The same token with the same changes within ten minutes makes them once."""
