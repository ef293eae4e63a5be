"""What writes may cost: a change pays for its item's kilobytes and three index entries, twice in a transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.values import item_size
from tests.simulation.invariants.violation import hold
from tests.simulation.mirror import is_job

if TYPE_CHECKING:
    from tests.simulation.dynamodb.database import Change

_INDEX_ENTRIES = 3
# Enqueue 2, claim 3, start 1, complete 2, and 1 more with the ended index: see docs/cost.md.
PLAIN_JOB = 9
_PLAIN_CHANGES = 4


def check_cost(operation: str, changes: list[Change], units: float) -> None:
    if operation == "BatchExecuteStatement":
        return  # statements that were refused cost too, and are not among the changes
    each = sum(_kilobytes(change.old, change.new) + _INDEX_ENTRIES for change in changes)
    budget = each * (2 if operation == "TransactWriteItems" else 1)
    hold(units <= budget, "write units within budget", f"{operation} of {len(changes)} items took {units} units")


class Spending:
    """What each job cost, as far as its changes were nobody else's."""

    def __init__(self) -> None:
        self._units: Counter[tuple[str, str]] = Counter()
        self._changes: Counter[tuple[str, str]] = Counter()
        self._largest: Counter[tuple[str, str]] = Counter()

    def note(self, keys: list[tuple[str, str] | None], changes: list[Change], units: float, *, asked: int) -> None:
        """`asked` is how many statements the call had: those that were refused cost something too."""
        sizes = [_kilobytes(change.old, change.new) for change in changes]
        # The cost of a batch can be shared out where all of it is alike.
        is_alone = len(changes) == (asked or 1) and max(sizes) == 1
        for key, change, size in zip(keys, changes, sizes, strict=True):
            if key is not None and is_job(key):
                # What is written together with something else, or started so late that it moves, is no plain job.
                self._changes[key] += 1 if is_alone and not _is_late_start(change) else 100
                self._units[key] += units / len(keys)  # type: ignore[assignment]
                self._largest[key] = max(self._largest[key], size)

    def check(self, key: tuple[str, str], job: dict[str, Any]) -> None:
        """A plain job: enqueued, claimed, started, completed, in an item of a kilobyte."""
        if job["status"] != "completed" or self._changes[key] != _PLAIN_CHANGES or self._largest[key] > 1:
            return
        units = self._units[key]
        hold(units <= PLAIN_JOB, "write units within budget", f"{job['job_id'][-6:]} took {units} units in all")


def _kilobytes(old: Any, new: Any) -> int:
    largest = max(item_size(old) if old else 0, item_size(new) if new else 0)
    return -(-largest // 1024)


def _is_late_start(change: Change) -> bool:
    """A start that needs a longer lease changes its place in the due index."""
    old, new = change.old or {}, change.new or {}
    is_start = "started_at" in new and "started_at" not in old
    return is_start and old.get("due_key") != new.get("due_key")
