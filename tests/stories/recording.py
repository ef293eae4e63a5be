"""What a queue does, as text: each call of its table, each log line and figure, with names and times people can read.

Recorded at the ports of table, telemetry, clock and dispatcher only: how the library is cut into functions leaves no
trace here, what it asks, writes and reports does.
"""

from __future__ import annotations

import random
import re
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.table import (
    DEAD_LETTERS,
    JOBS,
    Above,
    After,
    AnyOf,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Missing,
    NotAfter,
    OneOf,
    Put,
    StatementRefused,
    TransactionCancelled,
    Update,
)
from leasehold.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leasehold.kernel.table import Change, Condition, Key, Page, Record, TableDefinition
    from leasehold.telemetry import Event, Metric

START = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 400

_JOB_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3,6})?(?:Z|\+00:00)")
_MARK = re.compile(r"\b0(m[0-9a-z]{7})([0-9a-f]{8})?(?![0-9a-z])")
_NONCE = re.compile(r"(?<=\.)[0-9a-f]{16}\b")
_STAMP = re.compile(r"(?<![\w.-])[0-9a-f]{8}(?![\w-])")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Recording:
    """The lines so far. Ids, nonces and stamps are named in the order in which they are first seen."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.lines: list[str] = []
        self.shows_types = False
        self._clock = clock
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._texts: dict[str, str] = {}

    def note(self, what: str) -> None:
        since = (self._clock() - START).total_seconds()
        self.lines.append(f"{since:10.3f}  {what}")

    def title(self, what: str) -> None:
        self.lines += ["", f"» {what}"]

    def call(self, what: str, kind: str = "job") -> None:
        """Give something its name before it is seen."""
        self._named(what, kind)

    def text(self, value: object) -> str:
        """A value, short, and the same in every run."""
        match value:
            case None | bool() | int():
                return str(value)
            case float():
                return f"{value:.6g}"
            case datetime():
                return _since_start(value)
            case timedelta():
                return f"{value.total_seconds():g}s"
            case dict():
                return "{" + ", ".join(f"{name}={self._attribute(name, value[name])}" for name in sorted(value)) + "}"
            case list() | tuple():
                return "[" + ", ".join(self.text(each) for each in value) + "]"
            case bytes():
                return f"{len(value)} bytes"
            case set() | frozenset():
                return "{" + ", ".join(sorted(self.text(each) for each in value)) + "}"
            case _:
                return self.named(str(value))

    def fields(self, given: Mapping[str, object]) -> str:
        return " ".join(f"{name}={self._attribute(name, given[name])}" for name in sorted(given))

    def _attribute(self, name: str, value: object) -> str:
        if name == "types" and not self.shows_types:
            return "…"
        if name == "expires_at" and isinstance(value, int):
            return _since_start(_EPOCH + timedelta(seconds=value))
        return self.text(value)

    def named(self, text: str) -> str:
        if text not in self._texts:
            self._texts[text] = self._with_names(text)
        return self._texts[text]

    def _with_names(self, text: str) -> str:
        if '", line ' in text:
            text = f"Traceback… {text.splitlines()[-1]}"
        text = _ADDRESS.sub(" at …", text)
        text = _JOB_ID.sub(lambda found: self._named(found[0], "job"), text)
        text = _TIME.sub(lambda found: _since_start(datetime.fromisoformat(found[0].replace(" ", "T"))), text)
        text = _MARK.sub(self._mark, text)
        text = _NONCE.sub(lambda found: self._named(found[0], ""), text)
        text = _STAMP.sub(lambda found: self._named(found[0], "stamp"), text)
        text = text.replace("\n", "⏎").replace("\0", "␀")
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… {len(text)} characters"

    def _mark(self, found: re.Match[str]) -> str:
        at = _since_start(_EPOCH + timedelta(milliseconds=int(found[1], 36)))
        return f"@{at}" + (f"/{self._named(found[2], 'stamp')}" if found[2] else "")

    def _named(self, value: str, kind: str) -> str:
        if value not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[value] = f"{kind}{'-' if kind else ''}{self._counts[kind]}"
        return self._names[value]


def _since_start(at: datetime) -> str:
    if at == _EPOCH:
        return "epoch"
    seconds = (at - START).total_seconds()
    if abs(seconds) < 48 * 3600:
        return f"{seconds:+g}s" if seconds == int(seconds) else f"{seconds:+.3f}s"
    return f"{seconds / 86400:+.6g}d"


class StoryClock(FakeClock):
    """Stands still unless it is told to move, or somebody sleeps, which is told."""

    def __init__(self) -> None:
        super().__init__(START)
        self.slept: Callable[[timedelta], None] = lambda _: None

    def sleep(self, duration: timedelta) -> None:
        self.slept(duration)
        super().sleep(duration)


class StoryRandom:
    """Ids and stamps that differ, and jitter that is always the same quarter: no order of asking matters to it."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def share(self) -> float:
        return 0.25


class RecordingTelemetry:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.counts: dict[str, int] = {}

    def event(self, event: Event, **fields: object) -> None:
        self.counts[str(event)] = self.counts.get(str(event), 0) + 1
        shown = {name: value for name, value in fields.items() if value not in {None, 0} or name == "attempt"}
        self._recording.note(f"log     {event} {self._recording.fields(shown)}")

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        under = f" of {' '.join(dimensions.values())}" if dimensions else ""
        self._recording.note(f"figure  {metric.name}{under}: {self._recording.text(value)}")


class Fault(NamedTuple):
    """What happens to which call of a story.

    fails: the store does not answer, and nothing was written.
    is lost: it was made, but the store did not answer.
    is repeated: it was made, its answer was lost, and it was sent once more.
    is refused: this engine takes no batches.
    meets …: somebody else acts right before it, see MEETINGS.
    """

    at: int
    kind: str


# By the first word of a call. A read that fails is no different from a write that fails, but for those who cache it.
FAULTS = {
    "write": ("fails", "is lost", "is repeated"),
    "together": ("fails", "is lost"),
    "insert": ("fails", "is lost"),
    "batch": ("fails", "is lost", "is refused"),
}


class RecordingTable:
    """The table port in front of the in-memory table.

    takes: how long each call takes. before: what somebody else does right before a call whose text begins so.
    """

    def __init__(self, recording: Recording, clock: FakeClock, fault: Fault | None = None) -> None:
        self.stored = MemoryTable("story")
        self.recording = recording
        self.calls = 0
        # The first word of each call: get, query, write, …
        self.kinds: list[str] = []
        self.takes = timedelta(0)
        self.before: list[tuple[str, Callable[[], object]]] = []
        self.meetings: Mapping[str, Callable[[], object]] = {}
        self._clock = clock
        self._fault = fault

    @property
    def name(self) -> str:
        return "story"

    def get(self, key: Key) -> Record | None:
        with self._called(f"get     {self._key(key)}") as answer:
            found = self.stored.get(key)
            answer.append("found" if found is not None else "nothing")
        return found

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        with self._called(f"get     {', '.join(self._key(key) for key in keys)}") as answer:
            found = self.stored.get_many(keys)
            answer.append(f"{len(found)} of {len(keys)}")
        return found

    def query(self, table: TableDefinition, partition: str, **how: Any) -> Page:
        with self._called(f"query   {self._query(partition, **how)}") as answer:
            page = self.stored.query(table, partition, **how)
            answer.append(f"{len(page.records)}{' and more' if page.cursor is not None else ''}")
        return page

    def count(self, table: TableDefinition, partition: str, **how: Any) -> int:
        with self._called(f"count   {self._query(partition, **how)}") as answer:
            count = self.stored.count(table, partition, **how)
            answer.append(str(count))
        return count

    def scan(self, table: TableDefinition) -> Iterator[Record]:
        with self._called("scan"):
            return self.stored.scan(table)

    def write(self, change: Change) -> Record:
        with self._called(f"write   {self._change(change)}") as answer:
            try:
                record = self.stored.write(change)
            except ConditionFailed as refused:
                answer.append(f"refused: {self._shown(refused.current)}")
                raise
            answer.append("made")
            if self._is_hit("is repeated"):
                try:
                    return self.stored.write(change)
                except ConditionFailed as again:
                    raise ConditionFailed(again.current, was_repeated=True) from None
        return record

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        with self._called(f"insert  {'; '.join(self._change(each) for each in puts)}") as answer:
            answers = self.stored.insert_many(puts)
            answer.append(self._answers(answers))
        return answers

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        with self._called(f"batch   {'; '.join(self._change(each) for each in updates)}") as answer:
            if self._is_hit("is refused"):
                return [StatementRefused() for _ in updates]
            answers = self.stored.update_many(updates)
            answer.append(self._answers(answers))
        return answers

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[Any] = ()) -> None:
        with self._called(f"together {'; '.join(self._change(each) for each in changes)}") as answer:
            try:
                self.stored.transact(changes, token=token, foreign=foreign)
            except TransactionCancelled as refused:
                failed = {at: self._shown(current) for at, current in sorted(refused.failed.items())}
                answer.append(f"refused: {failed}")
                raise
            answer.append("made")

    def _is_hit(self, kind: str) -> bool:
        return self._fault is not None and self._fault.at == self.calls and self._fault.kind == kind

    @contextmanager
    def _called(self, what: str) -> Iterator[list[str]]:
        for each in [each for each in self.before if what.startswith(each[0])]:
            self.before.remove(each)
            each[1]()
        if self._fault is not None and self._fault.at == self.calls + 1 and self._fault.kind in self.meetings:
            meet, self._fault = self.meetings[self._fault.kind], None
            meet()
        self.calls += 1
        self.kinds.append(what.split(maxsplit=1)[0])
        self._clock.advance(self.takes)
        if self._is_hit("fails"):
            self.recording.note(f"{what} -> no answer")
            raise StoreUnavailableError("the store does not answer")
        answer: list[str] = []
        try:
            yield answer
        finally:
            self.recording.note(" -> ".join([what, *answer]))
        if self._is_hit("is lost"):
            raise StoreUnavailableError("the store does not answer")

    # --- as text

    def _key(self, key: Key) -> str:
        return self.recording.named("/".join(key.values))

    def _query(
        self,
        partition: str,
        *,
        index: Any = None,
        first: str | None = None,
        last: str | None = None,
        limit: int,
        after: Record | None = None,
        newest_first: bool = False,
        where: Sequence[Condition] = (),
        consistent: bool = True,
    ) -> str:
        text = self.recording.text
        words = [f"{index.name} {text(partition)}" if index else text(partition)]
        words += [f"from {text(first)}"] if first is not None else []
        words += [f"to {text(last)}"] if last is not None else []
        words += [f"after {text(after)}"] if after is not None else []
        words += ["newest first"] if newest_first else []
        words += [f"where {self._conditions(where)}"] if where else []
        words += ["cheaply"] if not consistent else []
        return " ".join([*words, f"limit {limit}"])

    def _change(self, change: Change) -> str:
        match change:
            case Put():
                given = "new" if change.conditions is None else f"if {self._conditions(change.conditions)}"
                return f"put {self._key(change.key)} {given} {self._shown(change.record)}"
            case Update():
                words = [f"update {self._key(change.key)}"]
                words += [f"if {self._conditions(change.conditions)}"] if change.conditions else []
                words += [f"set {self._shown(change.sets)}"] if change.sets else []
                words += [f"add {self._shown(change.adds)}"] if change.adds else []
                words += [f"remove {self.recording.text(change.removes)}"] if change.removes else []
                return " ".join(words)
            case Delete():
                return f"delete {self._key(change.key)} if {self._conditions(change.conditions)}"

    def _shown(self, record: Mapping[str, object] | None) -> str:
        return "nothing" if record is None else self.recording.text(dict(record))

    def _conditions(self, conditions: Sequence[Condition]) -> str:
        return " and ".join(self._condition(each) for each in conditions) or "anything"

    def _condition(self, condition: Condition) -> str:
        text = self.recording.text
        match condition:
            case Exists(attribute):
                return f"{attribute} is there"
            case Missing(attribute):
                return f"no {attribute}"
            case Equals(attribute, value):
                return f"{attribute} = {text(value)}"
            case OneOf(attribute, values):
                return f"{attribute} in {text(values)}"
            case After(attribute, value) | Above(attribute, value):
                return f"{attribute} > {text(value)}"
            case NotAfter(attribute, value):
                return f"{attribute} <= {text(value)}"
            case AnyOf(conditions):
                return "(" + " or ".join(self._condition(each) for each in conditions) + ")"

    @staticmethod
    def _answers(answers: Sequence[Exception | None]) -> str:
        return ", ".join("made" if each is None else type(each).__name__ for each in answers)

    def left(self) -> list[str]:
        """Every item that is stored in the end."""
        found = []
        for table in (JOBS, DEAD_LETTERS):
            for record in self.stored.scan(table):
                key = [str(record.pop(name)) for name in table.key]
                found.append(f"{self.recording.named('/'.join(key))} {self._shown(record)}")
        return sorted(found)
