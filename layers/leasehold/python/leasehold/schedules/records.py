"""Access patterns of schedules: each change commits with its audit record, each trigger with the jobs that it makes."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from leasehold.audit.records import Audits
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import Due, Priority, position_at, to_text
from leasehold.kernel.lanes import SERVICE_LANE
from leasehold.kernel.partitions import records_in
from leasehold.kernel.records import Codec, Kind, encode
from leasehold.kernel.table import (
    JOBS,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    Put,
    TransactionCancelled,
    Update,
    check_format,
)
from leasehold.kernel.unreadable import read_each, read_one
from leasehold.schedules.model import DEFINED, Missed, Origin, Overlap, Schedule, due_after_change
from leasehold.schedules.recurrence import Cron, Every, InTheGap, WhenRepeated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.job import Job
    from leasehold.kernel.table import Condition, Record, Table
    from leasehold.kernel.unreadable import Listed


_DUE = frozenset({"due_lane", "due_key"})
_WAKE = frozenset({"wake", "woken_at", "seen_at"})
_MIRROR_NOTES = frozenset({"mirror_error", "mirror_again_at"})

SCHEDULE = "schedule"


class ScheduleChanged(Exception):  # noqa: N818  an answer: look again and decide anew
    """The schedule is not what was read, or a slot's job exists already."""

    def __init__(self, existing: frozenset[str] = frozenset()) -> None:
        super().__init__("the schedule changed since it was read")
        self.existing = existing


class Schedules:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._audits = Audits(table)

    def get(self, name: str) -> Schedule | None:
        record = self._table.get(schedule_key(name))
        return read_one(record, schedule_of) if record else None

    def all(self) -> Listed[Schedule]:
        return read_each(records_in(self._table, SCHEDULE), schedule_of)

    def commit(self, old: Schedule | None, new: Schedule | None, audit_entry: AuditEntry) -> bool:
        """Put a schedule with its audit record, or remove it; False if it is not, or no longer, what was read.

        One that is due at once wakes a poller, which tells EventBridge.
        """
        audit = self._audits.audit(audit_entry)
        if new is None:
            assert old is not None
            return self._audits.commit([_removal(old)], audit)
        due_at = due_after_change(new, audit_entry.at)
        due: Record = {} if due_at is None else _due(new.name, due_at, audit_entry.at)
        if due_at is not None and due_at <= audit_entry.at:
            due["wake"] = True
        state = _STATE.record(replace(new, due_key=None, seen_at=None, audit_head=audit.head))
        # A whole schedule is written again: what was noted since it was read must not be lost.
        as_read = (*_as_read(old), _seen("last_triggered_at", old.last_triggered_at)) if old else None
        put = Put(key=schedule_key(new.name), record={**definition_record(new), **state, **due}, conditions=as_read)
        return self._audits.commit([put], audit)

    def remove(self, schedule: Schedule) -> None:
        """Remove one that was retired, with its record, before."""
        self._write(_removal(schedule))

    def advance(
        self,
        seen: Schedule,
        jobs: Sequence[Job],
        cursor: datetime,
        now: datetime,
        *,
        due_at: datetime | None,
        token: str,
    ) -> None:
        """Make the jobs of some slots and move the schedule past them: all of it, or nothing."""
        sets: Record = {"cursor": to_text(cursor)}
        if not jobs:
            self._write(_looked_at(seen, due_at, now, sets))
            return
        sets |= {"last_triggered_at": to_text(now), "last_job_id": jobs[-1].job_id}
        move = _looked_at(seen, due_at, now, sets)
        try:
            self._table.transact([move, *(insertion(job) for job in jobs)], token=token)
        except TransactionCancelled as cancelled:
            raise ScheduleChanged(frozenset(jobs[at - 1].job_id for at in cancelled.failed if at > 0)) from None

    def look_again(self, seen: Schedule, at: datetime | None, now: datetime) -> None:
        """Have the schedule looked at later, or never, without deciding about its slots."""
        self._write(_looked_at(seen, at, now, {}))

    def wake(self, seen: Schedule, now: datetime, *, is_put_off: bool) -> None:
        """Have a poller look at once at a schedule whose slot has come, also if an earlier slot was put off."""
        # The stream shows no write that changes nothing: a second wake must differ from one that was lost.
        sets: Record = {"wake": True, "woken_at": to_text(now), "seen_at": to_text(seen.seen_at or now)}
        self._write(_update(seen, sets | (_due(seen.name, now, now) if is_put_off else {})))

    def note_mirror(self, seen: Schedule, again_at: datetime | None) -> Schedule:
        """Note that EventBridge was told of this version, and when it is to be told once more."""
        sets: Record = {"mirrored_version": seen.version}
        if again_at is not None:
            sets["mirror_again_at"] = to_text(again_at)
        return schedule_of(self._write(_update(seen, sets, _MIRROR_NOTES - sets.keys())))

    def note_mirror_error(self, seen: Schedule, error: str) -> Schedule:
        """Note what EventBridge said to this version of the schedule."""
        return schedule_of(self._write(_update(seen, {"mirror_error": error})))

    def mirror_anew(self, name: str, now: datetime) -> None:
        """Have EventBridge told again at once, whatever it was told last."""
        sets: Record = {"mirrored_version": 0, "wake": True, **_due(name, now, now)}
        self._write(Update(key=schedule_key(name), conditions=(Exists("PK"),), sets=sets))

    def _write(self, change: Update | Delete) -> Record:
        try:
            return self._table.write(change)
        except ConditionFailed:
            raise ScheduleChanged from None


def _removal(seen: Schedule) -> Delete:
    return Delete(key=schedule_key(seen.name), conditions=_as_read(seen))


def _update(seen: Schedule, sets: Record, removes: frozenset[str] = frozenset()) -> Update:
    return Update(key=schedule_key(seen.name), conditions=_as_read(seen), sets=sets, removes=removes)


def _looked_at(seen: Schedule, due_at: datetime | None, now: datetime, sets: Record) -> Update:
    """Nothing is left to do before it is due again, or it never is."""
    if due_at is None:
        return _update(seen, sets, _WAKE | _DUE)
    return _update(seen, sets | _due(seen.name, due_at, now), _WAKE)


def _due(name: str, at: datetime, now: datetime) -> Record:
    return {"due_lane": SERVICE_LANE, "due_key": Due(at, position_at(now), name).key}


def triggered_by_hand(schedule: Schedule, now: datetime) -> Update:
    """Note a run outside of the plan, which leaves the slots as they are; not where the schedule is gone."""
    sets: Record = {"last_triggered_at": to_text(now)}
    return Update(key=schedule_key(schedule.name), conditions=(Exists("PK"),), sets=sets)


def _as_read(schedule: Schedule) -> tuple[Condition, ...]:
    """Slots are decided and definitions changed by those only who saw the latest of both."""
    due = _seen("due_key", schedule.due_key)
    return (Equals("version", schedule.version), Equals("cursor", to_text(schedule.cursor)), due)


def _seen(name: str, value: object) -> Condition:
    return Missing(name) if value is None else Equals(name, encode(value))


_KINDS = {
    "timedelta": Kind(int, lambda seconds: timedelta(seconds=seconds), lambda length: int(length.total_seconds())),
    "Priority": Kind(int, Priority),
    **{choice.__name__: Kind(str, choice) for choice in (Missed, Overlap, Origin, InTheGap, WhenRepeated)},
}
_EVERY = Codec(Every, _KINDS, stored_as={"interval": "every"})
_CRON = Codec(Cron, _KINDS, stored_as={"line": "cron"}, always={"line", "timezone", "on_dst_gap", "on_dst_overlap"})
_NAMES = [each.name for each in fields(Schedule)]
_DEFINITION = Codec(
    Schedule,
    _KINDS,
    stored_as={"payload_text": "payload"},
    without={"name", "recurrence", *_NAMES[DEFINED:]},
    always={"enabled", "missed", "missed_window", "overlap"},
)
_STATE = Codec(
    Schedule, _KINDS, without=_NAMES[:DEFINED], always={"cursor", "origin", "version", "mirrored_version", "created_by"}
)


def definition_record(schedule: Schedule) -> Record:
    recurrence = schedule.recurrence
    return _DEFINITION.record(schedule) | (_EVERY if isinstance(recurrence, Every) else _CRON).record(recurrence)


def definition_of(name: str, record: Record, **state: Any) -> Schedule:
    check_format(record, f"schedule {name}")
    recurrence = Every(**_EVERY.values(record)) if "every" in record else Cron(**_CRON.values(record))
    return Schedule(name=name, recurrence=recurrence, **_DEFINITION.values(record), **state)


def schedule_of(record: Record) -> Schedule:
    return definition_of(cast("str", record["SK"]), record, **_STATE.values(record))


def schedule_key(name: str) -> Key:
    return Key(JOBS, (SCHEDULE, name))
