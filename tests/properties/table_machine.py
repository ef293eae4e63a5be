"""A machine that does the same to several tables and to the reference, and lets them disagree if they can."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from leasehold.kernel.errors import StoreError
from leasehold.kernel.table import DEAD_LETTERS, JOBS, ConditionFailed, TransactionCancelled
from tests.properties.drawing import INDEXES, LANES, PARTITIONS, changes, conditions, keys, puts, times
from tests.properties.reference import Reference, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.table import Change, Condition, Index, Key, Page, Put, Record, Table, TableDefinition

tables_of_queries = st.sampled_from([JOBS, DEAD_LETTERS])
_ALL_PAGES = 50
# A token counts for a whole account: machines that follow each other on one engine must not share any.
machine_numbers = itertools.count()


def outcome(act: Callable[[], object]) -> tuple[str, object]:
    """What came of it, so that it can be compared: an answer, or a refusal with what it shows."""
    try:
        return "done", act()
    except ConditionFailed as failed:
        return "refused", failed.current
    except TransactionCancelled as cancelled:
        return "cancelled", {str(position): record for position, record in cancelled.failed.items()}
    except StoreError:
        return "error", None


class TableMachine(RuleBasedStateMachine):
    """Subclasses say which tables; every one of them must do as the reference does."""

    def __init__(self) -> None:
        super().__init__()
        self.reference = Reference()
        self.tables: Sequence[Table] = self.open_tables()
        self._used: list[tuple[str, list[Change]]] = []
        self._name = f"machine-{next(machine_numbers)}"

    def open_tables(self) -> Sequence[Table]:
        raise NotImplementedError

    def _expect(self, expected: tuple[str, object], act: Callable[[Table], object]) -> None:
        for table in self.tables:
            found = outcome(lambda table=table: act(table))  # type: ignore[misc]
            assert same(list(found), list(expected)), f"{type(table).__name__} answered {found!r}, not {expected!r}"

    @rule(change=changes())
    def write(self, change: Change) -> None:
        stored = self.reference.records.get(change.key)
        if self.reference.allows(change):
            self._expect(("done", self.reference.apply(change)), lambda table: table.write(change))
        else:
            self._expect(("refused", stored), lambda table: table.write(change))

    @rule(batch=st.lists(puts(only_new=True), min_size=1, max_size=6, unique_by=lambda put: put.key))
    def insert_many(self, batch: list[Put]) -> None:
        is_new = [self.reference.allows(put) for put in batch]
        for put, new in zip(batch, is_new, strict=True):
            if new:
                self.reference.apply(put)
        for table in self.tables:
            answers = table.insert_many(batch)
            assert [answer is None for answer in answers] == is_new
            assert all(answer is None or isinstance(answer, ConditionFailed) for answer in answers)

    @rule(batch=st.lists(changes(), min_size=1, max_size=4, unique_by=lambda change: change.key), data=st.data())
    def transact(self, batch: list[Change], data: st.DataObject) -> None:
        """With a new token, with that of an earlier transaction, or as the repeat of one whose response was lost."""
        kind = data.draw(st.sampled_from(["new", "new", "reused", "repeated"]), label="token")
        if kind == "new" or not self._used:
            token = f"{self._name}-{len(self._used)}"
        else:
            token, before = data.draw(st.sampled_from(self._used), label="earlier transaction")
            batch = before if kind == "repeated" else batch
        self._used.append((token, batch))
        self._expect(self._outcome_of(token, batch), lambda table: table.transact(batch, token=token))

    def _outcome_of(self, token: str, batch: list[Change]) -> tuple[str, object]:
        # A token that comes back with other changes is another transaction.
        if (token, repr(batch)) in self.reference.done:
            return "done", None
        failed = {
            str(position): self.reference.records.get(change.key)
            for position, change in enumerate(batch)
            if not self.reference.allows(change)
        }
        if failed:
            return "cancelled", failed
        for change in batch:
            self.reference.apply(change)
        self.reference.done.add((token, repr(batch)))
        return "done", None

    @rule(key=keys)
    def get(self, key: Key) -> None:
        self._expect(("done", self.reference.records.get(key)), lambda table: table.get(key))

    @rule(wanted=st.lists(keys, min_size=1, max_size=6))
    def get_many(self, wanted: list[Key]) -> None:
        expected = [self.reference.records[key] for key in dict.fromkeys(wanted) if key in self.reference.records]
        for table in self.tables:
            assert same(_sorted(table.get_many(wanted)), _sorted(expected)), type(table).__name__

    @rule(
        definition=tables_of_queries,
        data=st.data(),
        bounds=st.tuples(st.none() | times, st.none() | times),
        order=st.fixed_dictionaries(
            {"limit": st.integers(1, 4), "newest_first": st.booleans(), "consistent": st.booleans()}
        ),
        where=conditions,
    )
    def query(
        self,
        definition: TableDefinition,
        data: st.DataObject,
        bounds: tuple[str | None, str | None],
        order: dict[str, Any],
        where: tuple[Condition, ...],
    ) -> None:
        index, partition = self._place(definition, data)
        first, last = bounds if index is not None else (None, None)
        if first is not None and last is not None:
            first, last = min(first, last), max(first, last) + "~"
        where = () if any("due_lane" in repr(each) for each in where) else where  # no filter may name a key
        found = self.reference.found(definition, partition, index=index, first=first, last=last, where=where)
        expected = found[::-1] if order["newest_first"] else found
        for table in self.tables:

            def page(after: Record | None, table: Table = table) -> Page:
                return table.query(
                    definition, partition, index=index, first=first, last=last, after=after, where=where, **order
                )

            assert same(_all_pages(page, order["limit"]), expected), type(table).__name__

    @rule(definition=tables_of_queries, data=st.data(), last=st.none() | times, limit=st.integers(1, 4))
    def count(self, definition: TableDefinition, data: st.DataObject, last: str | None, limit: int) -> None:
        index, partition = self._place(definition, data)
        if index is None:
            return
        number = len(self.reference.found(definition, partition, index=index, last=last))
        self._expect(
            ("done", min(number, limit)),
            lambda table: table.count(definition, partition, index=index, last=last, limit=limit),
        )

    def _place(self, definition: TableDefinition, data: st.DataObject) -> tuple[Index | None, str]:
        index = data.draw(st.sampled_from(INDEXES[definition]), label="index")
        if index is None:
            return None, data.draw(st.sampled_from(PARTITIONS), label="partition")
        return index, data.draw(st.sampled_from(["open"] if index.partition == "open" else LANES), label="lane")


def _all_pages(page: Callable[[Record | None], Page], limit: int) -> list[Record]:
    records: list[Record] = []
    cursor: Record | None = None
    for _ in range(_ALL_PAGES):
        found = page(cursor)
        assert len(found.records) <= limit
        records += found.records
        cursor = found.cursor
        if cursor is None:
            return records
    raise AssertionError("a query that never ends")


def _sorted(records: list[Record]) -> list[Any]:
    """By key: neither the order of records in a batch nor that of attributes in a record means anything."""
    return sorted(records, key=lambda record: [str(record.get(name, "")) for name in ("PK", "SK", "id")])
