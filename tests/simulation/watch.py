"""The watch: looks at each change as it is made, and remembers the first thing that must not be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.invariants.budget import Spending, check_cost
from tests.simulation.invariants.dead_letters import check_dead_letter
from tests.simulation.invariants.dedup import DedupKeys
from tests.simulation.invariants.insistence import Insistence
from tests.simulation.invariants.origins import check_insertion
from tests.simulation.invariants.patience import check_patience
from tests.simulation.invariants.rates import Rates
from tests.simulation.invariants.seats import Seats
from tests.simulation.invariants.sight import check_sight
from tests.simulation.invariants.slots import check_slots
from tests.simulation.invariants.transitions import check_transition
from tests.simulation.invariants.turns import check_group, check_groups
from tests.simulation.invariants.violation import Violation
from tests.simulation.invariants.waiting import Waiting, check_lateness
from tests.simulation.mirror import Mirror, is_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.dynamodb.table import TableNames
    from tests.simulation.calls import Call
    from tests.simulation.coverage import Coverage
    from tests.simulation.dynamodb.database import Change
    from tests.simulation.invocation import Invocation
    from tests.simulation.limits import Limits
    from tests.simulation.mirror import Key, Record

# Everything is looked at as a whole now and then: each change has been looked at by itself.
_WHOLE_EVERY = 60


class Watch:
    def __init__(
        self, names: TableNames, limits: Limits, coverage: Coverage, on_record: Callable[[str, Any, Any], None]
    ) -> None:
        self.mirror = Mirror(names)
        self._jobs_table = names.jobs
        self.violation: Violation | None = None
        self.dedups = DedupKeys(self.mirror)
        self.seats = Seats(self.mirror, limits)
        self.rates = Rates(limits)
        self.waiting = Waiting(self.mirror)
        self.spending = Spending()
        self.insistence = Insistence(self.mirror)
        self._coverage = coverage
        self._on_record = on_record
        self._changes: list[Change] = []
        self._writes = 0

    def on_change(self, change: Change) -> None:
        if not change.expired:
            self._changes.append(change)
            return
        key, job, _ = self.mirror.note(change.table, change.old, change.new)
        if key is not None and job is not None:
            self.mirror.removed.add(key)
            if "schedule" in job:
                self.mirror.removed_slots.add((job["schedule"], job["scheduled_for"]))

    def blame(self, violation: Violation) -> None:
        """Only the first one counts: what follows may follow from it."""
        self.violation = self.violation or violation

    def state_of(self, keys: list[dict[str, Any]]) -> str:
        """The state of the first job among the keys of a call."""
        for key in keys:
            if "PK" in key and is_job((key["PK"]["S"], "")):
                return self.mirror.status_of((key["PK"]["S"], key["SK"]["S"])) or "absent"
        return "-"

    def after_call(self, writer: Invocation, call: Call) -> str:
        """Look at what the call changed, and what it cost; what became of jobs, for the trace."""
        changes, self._changes = self._changes, []
        if not call.asked:
            return ""
        seen: list[str] = []
        try:
            keys = self._look(changes, writer, seen)
            check_cost(call, changes)
            self._note_refused(call, writer)
            if changes:
                self.spending.note(keys, changes, call, writer)
                self.waiting.note_call(keys)
                self._writes += 1
                if self._writes % _WHOLE_EVERY == 0:
                    self.check_whole()
                    self.waiting.check_lines(writer.process.world)
        except Violation as violation:
            self.blame(violation)
        for change in changes:
            self._on_record(change.table, change.old, change.new)
        return " ".join(seen)

    def _note_refused(self, call: Call, writer: Invocation) -> None:
        for table, key in call.refused:
            if table == self._jobs_table and is_job(key):
                self.spending.note_refused(key, call.asked[table, key], writer)
                if call.is_heard:
                    self.insistence.note_refused(key, writer)

    def check_whole(self) -> None:
        """What no single change shows."""
        check_groups(self.mirror)
        for dead_letter in self.mirror.dead_letters:
            check_dead_letter(dead_letter, self.mirror)

    def _look(self, changes: list[Change], writer: Invocation, seen: list[str]) -> list[Key | None]:
        """Each change by itself; then, as a transaction makes several at once, what they are about."""
        noted = [self.mirror.note(change.table, change.old, change.new) for change in changes]
        touched = _Touched()
        for change, (key, old, new) in zip(changes, noted, strict=True):
            if key is None:
                if new is not None and "original_job_id" in new:
                    touched.dead[new["original_job_id"]] = None
            elif is_job(key):
                seen.append(f"{key[1][-6:]} {old['status'] if old else 'none'}->{new['status'] if new else 'none'}")
                check_sight(key, change.old, change.new, writer)
                self._look_at_job(key, old, new, writer, touched)
            else:
                touched.note(key, old, new)
        for before, after in touched.schedules:
            check_slots(before, after, self.mirror)
        for ref in touched.refs:
            self.dedups.check(ref)
        for seat in touched.seats:
            self.seats.check(seat)
        for job_id in touched.dead:
            check_dead_letter(job_id, self.mirror)
        for group_id in touched.groups:
            check_group(group_id, self.mirror)
        return [key for key, _, _ in noted]

    def _look_at_job(
        self, key: Key, old: Record | None, new: Record | None, writer: Invocation, touched: _Touched
    ) -> None:
        check_transition(old, new, writer)
        assert new is not None
        self._coverage.transitions[f"{old['status'] if old else 'none'}->{new['status']}"] += 1
        if old is None:
            check_insertion(new, writer, self.mirror)
        elif new["status"] == "dead_letter":
            touched.dead[new["job_id"]] = None
        elif new["status"] == "in_progress" != old["status"]:
            check_patience(old, writer.process.world)
            check_lateness(old, writer.process.world)
            self.rates.check_claim(new)
        if old is not None:
            self.waiting.check_job(old, new, writer)
        if (ref := self.dedups.note(key, new)) is not None:
            touched.refs[ref] = None
        touched.seats.update(dict.fromkeys(self.seats.note(key, old, new)))
        if "group_id" in new:
            touched.groups[new["group_id"]] = None


@dataclass(slots=True)
class _Touched:
    """What one call touched besides jobs, each once and in order."""

    refs: dict[Key, None] = field(default_factory=dict)
    seats: dict[Key, None] = field(default_factory=dict)
    dead: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    schedules: list[tuple[Any, Any]] = field(default_factory=list)

    def note(self, key: Key, old: Record | None, new: Record | None) -> None:
        if key[0].startswith("scheduled-job#"):
            self.refs[key] = None
        elif key[0] == "schedule":
            self.schedules.append((old, new))
        elif key[0].startswith("seat#"):
            self.seats[key] = None
        elif key[1] == "group":
            self.groups[key[0].removeprefix("group#")] = None
