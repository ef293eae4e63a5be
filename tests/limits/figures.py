"""What is counted while a virtual queue works: writes by what they are about, and the time that pollers wait."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.kernel.table import Update

if TYPE_CHECKING:
    from leasehold.kernel.table import Change, Key

JOB, SEAT, LINE, OTHER = "job", "seat", "line", "other"
# What has nothing to do with limits. All that is new counts as a write about lines until somebody says otherwise.
_OTHERS = frozenset(
    {"watch", "control", "circuit", "audit", "audit-head", "schedule", "template", "group", "request", "direct-run"}
    | {"payload", "system-payload", "scheduled-job"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A handler began."""

    at: float
    job_type: str
    label: str


@dataclass(slots=True)
class Figures:
    """moves: jobs that a poller put into another lane, which is what waiting costs. claims: also those refused.

    busy: by virtual minute, the seconds that all pollers together waited for the table.
    """

    starts: list[Start] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    # When each hand-over was accepted.
    dispatched: list[float] = field(default_factory=list)
    # How many were handed over and had not begun, at the most.
    most_unstarted: int = 0
    moves: int = 0
    claims: int = 0
    writes: Counter[str] = field(default_factory=Counter)
    busy: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    # When each job had done what it owed.
    settled: list[float] = field(default_factory=list)
    # When each job was moved, by its sort key.
    moved_at: dict[str, list[float]] = field(default_factory=dict)
    # Waiting jobs that pollers read from an index, by type.
    read: Counter[str] = field(default_factory=Counter)

    def note_asked(self, change: Change) -> None:
        """A write that is refused is paid for as well."""
        kind = kind_of(change.key)
        self.writes[kind] += 1
        # One by one they add to it; in a batch, whose statements cannot, they set it.
        if kind == JOB and isinstance(change, Update) and "dispatches" in {*change.adds, *change.sets}:
            self.claims += 1

    def note_made(self, change: Change, role: str, at: float) -> None:
        if role != "poller" or not isinstance(change, Update) or kind_of(change.key) != JOB:
            return
        if "owed" in change.removes:
            self.settled.append(at)
        if "due_lane" in change.sets and not change.sets.keys() & {"status", "locked_by"}:
            self.moves += 1
            self.moved_at.setdefault(change.key.values[-1], []).append(at)

    def done_by(self, seconds: float) -> int:
        return sum(at <= seconds for at in self.ended)


def kind_of(key: Key) -> str:
    if len(key.values) == 1:
        return OTHER
    partition, sort = key.values
    name = partition.partition("#")[0]
    if name == "job":
        return JOB
    if name == "seat" and sort.isdigit():
        return SEAT
    return OTHER if name in _OTHERS else LINE
