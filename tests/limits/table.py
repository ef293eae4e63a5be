"""The in-memory table as AWS would have it: every call takes its time, and an index shows a write some time later."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.table import Delete, Put, Update
from tests.simulation.kernel import SECOND, Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leasehold.kernel.table import Change, Condition, ForeignItem, Index, Key, Page, Record, TableDefinition
    from tests.latency import Latencies
    from tests.limits.figures import Figures
    from tests.limits.process import Process
    from tests.simulation.kernel import Kernel

_KEYS_PER_READ = 100


class SharedTable:
    """What is stored. `on_change` hears of each record as it became; the stream is made of that."""

    def __init__(self, kernel: Kernel, latencies: Latencies, figures: Figures) -> None:
        self.kernel = kernel
        self.latencies = latencies
        self.figures = figures
        self.stored = MemoryTable()
        self.on_change: Callable[[Record], None] = lambda _: None
        self.waker: Callable[[Sequence[str]], None] | None = None
        self._indexed = MemoryTable("indexes")
        self._on_their_way: deque[tuple[int, Key, Record | None]] = deque()

    def indexed(self, *, at_once: bool) -> MemoryTable:
        """The indexes as they are now; without waiting for what is on its way, if nobody takes time here."""
        due = self.kernel.micros + (int(self.latencies.index_lag * SECOND) if at_once else 0)
        while self._on_their_way and self._on_their_way[0][0] <= due:
            _, key, record = self._on_their_way.popleft()
            if record is None:
                self._indexed.write(Delete(key=key, conditions=()))
            else:
                self._indexed.write(Put(key=key, record=record, conditions=()))
        return self._indexed

    def changed(self, changes: Sequence[Change]) -> None:
        visible_at = self.kernel.micros + int(self.latencies.index_lag * SECOND)
        for change in changes:
            record = None if isinstance(change, Delete) else self.stored.get(change.key)
            self._on_their_way.append((visible_at, change.key, record))
            if record is not None:
                self.on_change(record)


class LatentTable:
    """The table as one process reaches it. Outside of any task, where a case is set up, nothing takes time."""

    def __init__(self, shared: SharedTable, process: Process) -> None:
        self._shared = shared
        self._process = process
        self._latencies = shared.latencies

    @property
    def name(self) -> str:
        return self._shared.stored.name

    def get(self, key: Key) -> Record | None:
        with self._taking(self._latencies.call):
            return self._shared.stored.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        with self._taking(self._latencies.call * -(-len(keys) // _KEYS_PER_READ)):
            return self._shared.stored.get_many(keys)

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
        with self._taking(self._latencies.call):
            page = self._readable(index).query(
                table,
                partition,
                index=index,
                first=first,
                last=last,
                limit=limit,
                after=after,
                newest_first=newest_first,
                where=where,
                consistent=consistent,
            )
        if index is not None and self._process.role == "poller":
            self._shared.figures.read.update(str(each["job_type"]) for each in page.records if "job_type" in each)
        return page

    def count(
        self, table: TableDefinition, partition: str, *, index: Index, last: str | None = None, limit: int
    ) -> int:
        with self._taking(self._latencies.call):
            return self._readable(index).count(table, partition, index=index, last=last, limit=limit)

    def scan(self, table: TableDefinition) -> Iterator[Record]:
        return self._shared.stored.scan(table)

    def write(self, change: Change) -> Record:
        with self._taking(self._latencies.call):
            self._note([change])
            record = self._shared.stored.write(change)
            self._made([change])
        self._die_if_asked([change])
        return record

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        with self._taking(self._latencies.batches(len(puts)), statements=len(puts)):
            self._note(puts)
            answers = self._shared.stored.insert_many(puts)
            self._made([each for each, answer in zip(puts, answers, strict=True) if answer is None])
        return answers

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        with self._taking(self._latencies.batches(len(updates)), statements=len(updates)):
            self._note(updates)
            answers = self._shared.stored.update_many(updates)
            self._made([each for each, answer in zip(updates, answers, strict=True) if answer is None])
        return answers

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()) -> None:
        with self._taking(self._latencies.transaction, statements=len(changes)):
            self._note(changes)
            self._shared.stored.transact(changes, token=token, foreign=foreign)
            self._made(changes)
        self._die_if_asked(changes)

    @contextmanager
    def _taking(self, seconds: float, statements: int = 0) -> Iterator[None]:
        """Half of the time passes on the way there, the other half on the way back."""
        if not self._process.is_in_task:
            yield
            return
        kernel, cpu = self._shared.kernel, self._latencies.cpu
        self._process.calls += 1
        if cpu is not None:
            self._process.compute(cpu.call + statements * cpu.statement)
        if self._process.role == "poller":
            self._shared.figures.busy[int(kernel.seconds // 60)] += seconds
        kernel.sleep(seconds / 2)
        try:
            yield
        finally:
            kernel.sleep(seconds / 2)

    def _readable(self, index: Index | None) -> MemoryTable:
        return self._shared.stored if index is None else self._shared.indexed(at_once=not self._process.is_in_task)

    def _note(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._shared.figures.note_asked(change)

    def _made(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._shared.figures.note_made(change, self._process.role, self._shared.kernel.seconds)
        self._shared.changed(changes)

    def _die_if_asked(self, changes: Sequence[Change]) -> None:
        ends = any(isinstance(each, Update) and each.sets.get("status") == "completed" for each in changes)
        if ends and self._process.dies_after_end:
            raise Killed(self._process.name)
