"""What writes may cost: a change pays for its item's kilobytes and three index entries, twice in a transaction.

A write that is refused, or changes nothing, pays for the item that is there, and for no index.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.simulation.calls import place_of
from tests.simulation.dynamodb.values import item_size
from tests.simulation.invariants.violation import hold
from tests.simulation.mirror import is_job

if TYPE_CHECKING:
    from tests.simulation.calls import Call
    from tests.simulation.dynamodb.database import Change
    from tests.simulation.invocation import Invocation
    from tests.simulation.mirror import Key

_INDEX_ENTRIES = 3
# Enqueue 2, claim 3, start 1, complete 2, and 1 more with the ended index: see docs/cost.md.
PLAIN_JOB = 9
_PLAIN_CHANGES = 4
_TRANSACTIONS = frozenset({"TransactWriteItems", "ExecuteTransaction"})


def check_cost(call: Call, changes: list[Change]) -> None:
    changed = {place_of(change): _kilobytes(change.old, change.new) + _INDEX_ENTRIES for change in changes}
    each = sum((call.asked | changed).values())
    budget = each * (2 if call.operation in _TRANSACTIONS else 1)
    told = f"{call.operation} of {len(call.asked)} items, {len(changes)} of them changed, took {call.units} units"
    hold(call.units <= budget, "write units within budget", told)


class Spending:
    """What each job cost, as far as its changes were nobody else's."""

    def __init__(self) -> None:
        self._units: Counter[Key] = Counter()
        self._changes: Counter[Key] = Counter()
        self._largest: Counter[Key] = Counter()
        self._writers: dict[Key, set[Invocation]] = {}
        self._refused: Counter[tuple[Key, Invocation]] = Counter()

    def note(self, keys: list[Key | None], changes: list[Change], call: Call, writer: Invocation) -> None:
        sizes = [_kilobytes(change.old, change.new) for change in changes]
        # The cost of a batch can be shared out where all of it is alike.
        is_alone = len(changes) == len(call.asked) and call.operation not in _TRANSACTIONS and max(sizes) == 1
        # A batch starts the jobs of several claims: where one is late, what it pays more is not to be told apart.
        is_late = any(_is_late_start(change) for change in changes)
        for key, size in zip(keys, sizes, strict=True):
            if key is not None and is_job(key):
                # What is written together with something else, or started so late that it moves, is no plain job.
                self._changes[key] += 1 if is_alone and not is_late else 100
                self._units[key] += call.units / len(keys)  # type: ignore[assignment]
                self._largest[key] = max(self._largest[key], size)
                self._writers.setdefault(key, set()).add(writer)

    def note_refused(self, key: Key, units: float, writer: Invocation) -> None:
        self._refused[key, writer] += units  # type: ignore[assignment]

    def check(self, key: Key, job: dict[str, Any], *, has_faults: bool) -> None:
        """A plain job: enqueued, claimed, started, completed, in an item of a kilobyte.

        Where nothing goes wrong, those who do that are not refused once. A rival who comes too late pays for itself.
        """
        is_plain = self._changes[key] == _PLAIN_CHANGES and self._largest[key] == 1
        # Never started, it was held and then skipped: as many changes, but others.
        if job["status"] != "completed" or not job.get("attempts") or not is_plain:
            return
        units = float(self._units[key])
        # A batch of claims does not know who must start by a certain time: then one refusal comes before the claim.
        if not has_faults and "start_by" not in job:
            units += sum(self._refused[key, writer] for writer in self._writers[key])
        hold(units <= PLAIN_JOB, "write units within budget", f"{job['job_id'][-6:]} took {units} units in all")


def _kilobytes(old: Any, new: Any) -> int:
    largest = max(item_size(old) if old else 0, item_size(new) if new else 0)
    return -(-largest // 1024)


def _is_late_start(change: Change) -> bool:
    """A start that needs a longer lease changes its place in the due index."""
    old, new = change.old or {}, change.new or {}
    is_start = "started_at" in new and "started_at" not in old
    return is_start and old.get("due_key") != new.get("due_key")
