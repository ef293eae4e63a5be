"""Everything that is stored, followed change by change: what is looked at after each step costs no scan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.groups.records import group_of
from leasehold.kernel.dead_letter import dead_letter_of
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.job import DedupRef, job_of
from leasehold.kernel.keys import job_id_of_key, to_text
from tests.crash.snapshot import Snapshot

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.dynamodb.table import TableNames

type Key = tuple[str, str]
type Record = dict[str, Any]


ENDED = frozenset({"completed", "cancelled", "dead_letter"})
_ENDED_GROUPS = frozenset({"completed", "cancelled", "failed"})


def is_job(key: Key) -> bool:
    return key[0] == "job" or key[0].startswith("job#")


class Mirror:
    def __init__(self, names: TableNames) -> None:
        self._names = names
        self.items: dict[Key, Record] = {}
        self.dead_letters: dict[str, Record] = {}
        self.others: dict[str, Record] = {}
        self.jobs: dict[Key, Record] = {}
        # How often each item has changed.
        self.changes: Counter[Key] = Counter()
        # What has not come to rest: jobs that have not ended or owe something, and groups that have not ended.
        self.restless: set[Key] = set()
        # What its retention removed.
        self.removed: set[Key] = set()
        self.removed_slots: set[Key] = set()
        # Each schedule as it ever was, by its name.
        self.plans: dict[str, list[Record]] = {}

    def note(self, table: str, old: Any, new: Any) -> tuple[Key | None, Record | None, Record | None]:
        """Follow one change; the key of an item of the job table, and the records before and after."""
        after = None if new is None else from_item(new)
        if table == self._names.dead_letters:
            dead_letter_id = (new or old)["id"]["S"]
            self._put(self.dead_letters, dead_letter_id, after)
            return None, None, after
        if table != self._names.jobs:
            self._put(self.others, (new or old)["id"]["S"], after)
            return None, None, None
        key = ((new or old)["PK"]["S"], (new or old)["SK"]["S"])
        before = self.items.get(key)
        self._put(self.items, key, after)
        self.changes[key] += 1
        if is_job(key):
            self._put(self.jobs, key, after)
            has_ended = after is None or after["status"] in ENDED
            (self.restless.discard if has_ended and "due_key" not in (after or {}) else self.restless.add)(key)
        elif key[0] == "schedule" and after is not None:
            self.plans.setdefault(key[1], []).append(after)
        elif key[1] == "group" and after is not None:
            (self.restless.discard if after["state"] in _ENDED_GROUPS else self.restless.add)(key)
        return key, before, after

    def _put(self, place: dict[Any, Record], key: Any, record: Record | None) -> None:
        if record is None:
            place.pop(key, None)
        else:
            place[key] = record

    def status_of(self, key: Key) -> str | None:
        job = self.jobs.get(key)
        return None if job is None else job["status"]

    def is_due(self, now: datetime, skew: float) -> bool:
        """Whether a poll by any of the clocks would find something."""
        latest = to_text(now + timedelta(seconds=skew + 1))
        return any(
            "due_key" in record
            and record["due_key"] <= latest
            and not record.get("due_lane", "hold").startswith("hold")
            for record in self.items.values()
        )

    def is_stopped(self) -> bool:
        """Whether somebody stopped something on purpose, or something goes on for ever."""
        return any(
            (pk == "control" and sk.startswith(("halt", "pause#"))) or (pk == "schedule" and "due_key" in record)
            for (pk, sk), record in self.items.items()
        )

    def schedules(self) -> list[str]:
        return [key[1] for key, record in self.items.items() if key[0] == "schedule" and "due_key" in record]

    def snapshot(self) -> Snapshot:
        """The same as the crash tests read from a table, so that what they demand is demanded here too."""
        jobs = [job_of(record) for record in self.jobs.values()]
        # Callbacks are looked at by what they were told. They are small, and a retry of one is none.
        jobs = [replace(job, read_payload="{}") if job.payload_name or job.retry_of else job for job in jobs]
        dead_letters = [dead_letter_of(record) for record in self.dead_letters.values()]
        groups = [group_of(record) for key, record in self.items.items() if key[1] == "group"]
        pointers = {}
        for (pk, sk), record in self.items.items():
            if pk.startswith("scheduled-job#"):
                _, job_type, dedup_key = pk.split("#")
                pointers[DedupRef(job_type, dedup_key, sk)] = str(job_id_of_key(record["job_sk"]))
        return Snapshot(
            jobs={job.job_id: job for job in jobs},
            dead_letters={dead_letter.id: dead_letter for dead_letter in dead_letters},
            pointers=pointers,
            groups={group.group_id: group for group in groups},
        )
