"""The drill: a queue is lost and restored from an export. Since that was taken 200 jobs ended and 50 were made."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ConfigDict

from leasehold import BaseJobHandler, JobContext, JobStatus, JobType
from leasehold.audit.roots import verify_all
from leasehold.kernel.errors import InvalidOptionError, SystemHaltedError
from leasehold.restore.files import export, load
from leasehold.restore.settle import Unknown, look, settle
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from leasehold.kernel.job import Job

HOUR = timedelta(hours=1)
RAN: Counter[str] = Counter()


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class Reports(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Anything]:
        return Anything

    def handle(self, payload: Anything, context: JobContext) -> dict[str, str]:
        RAN[context.job_id] += 1
        return {"done": "yes"}


def queue_of() -> LeaseholdTest:
    return LeaseholdTest({"report": Reports}, types=[JobType(name="report", max_attempts=2)])


class Disaster:
    """`before` and `after` are exports of the old tables: at the restored moment, and when they were given up."""

    def __init__(self, folder: Path) -> None:
        RAN.clear()
        old = queue_of()
        self.old = old
        self.ended_before = [old.queue.enqueue("report", {"n": n}).job_id for n in range(20)]
        old.drain()
        self.to_end = [old.queue.enqueue("report", {"n": n}, run_in=HOUR / 2).job_id for n in range(200)]
        self.waiting = [
            old.queue.enqueue("report", {"n": "x" * 3000, "m": n}, run_in=9 * HOUR).job_id for n in range(30)
        ]
        old.queue.schedules.create("hourly", "report", every=HOUR)
        old.operator.pause("report", reason="noise")
        old.operator.unpause("report", reason="quiet")
        self.at = old.clock.now()
        self.before = folder / "before"
        export(self.before, old.services)
        old.clock.advance(2 * HOUR)
        old.drain()
        self.made = [old.queue.enqueue("report", {"n": n}, run_in=9 * HOUR).job_id for n in range(50)]
        self.after = folder / "after"
        export(self.after, old.services)
        self.ran_then = RAN.copy()

    def restored(self) -> LeaseholdTest:
        new = queue_of()
        new.clock.move_to(self.old.clock.now() + HOUR)
        load(self.before, new.services, reason="the tables were lost")
        return new


@pytest.fixture(scope="module")
def disaster(tmp_path_factory: pytest.TempPathFactory) -> Disaster:
    return Disaster(tmp_path_factory.mktemp("drill"))


def jobs_in(test: LeaseholdTest) -> dict[str, Job]:
    return {job.job_id: job for job in test.jobs()}


def test_nothing_is_lost_that_the_export_held_and_nothing_runs_twice_unasked(disaster: Disaster) -> None:
    new = disaster.restored()
    slot_runs = sum(disaster.ran_then.values()) - 220

    report = settle(disaster.at, new.services, reason="the tables were lost", old=disaster.after)

    assert {each.job_id for each in report.ran} == {*disaster.to_end}
    assert {each.since for each in report.ran} == {"completed"}
    assert len(report.made) == 50 + slot_runs
    assert {*disaster.made} <= {each.job_id for each in report.made}
    assert report.goes_on == 30
    assert report.schedules == ["hourly"]
    assert len(jobs_in(new)) == 250
    with pytest.raises(SystemHaltedError):
        new.queue.enqueue("report")

    new.operator.resume(reason="settled")
    new.drain()
    assert disaster.ran_then == RAN
    new.clock.advance(9 * HOUR)
    new.drain()

    assert all(RAN[each] == 1 for each in disaster.waiting)
    assert all(RAN[each] == 1 for each in disaster.to_end)
    assert new.queue.get(disaster.waiting[0]).payload == {"n": "x" * 3000, "m": 0}
    assert [flaws for _, flaws in verify_all(new.services) if flaws] == []


def test_a_job_that_ran_is_run_again_by_whoever_asks_for_it(disaster: Disaster) -> None:
    new = disaster.restored()
    settle(disaster.at, new.services, reason="the tables were lost", old=disaster.after)
    new.operator.resume(reason="settled")
    chosen = disaster.to_end[7]
    assert new.queue.get(chosen).status is JobStatus.CANCELLED
    assert [each.audit_entry.action for each in new.services.store.audits.trail(f"job#{chosen}")] == ["cancel"]

    again = new.queue.retry(chosen, reason="the mail was not sent").job_id
    new.drain()

    assert new.queue.get(again).status is JobStatus.COMPLETED


def test_a_load_is_halted_from_its_first_write_and_never_overwrites(disaster: Disaster) -> None:
    new = disaster.restored()
    kept = new.queue.get(disaster.waiting[0])
    new.queue.cancel(kept.job_id, reason="here it is not wanted")

    again = load(disaster.before, new.services, reason="once more")

    assert again.loaded == 0
    assert new.queue.get(kept.job_id).status is JobStatus.CANCELLED
    assert new.services.store.control.switches().halt is not None


def test_settling_twice_changes_nothing_more(disaster: Disaster) -> None:
    new = disaster.restored()
    settle(disaster.at, new.services, reason="the tables were lost", old=disaster.after)

    report = settle(disaster.at, new.services, reason="to be sure", old=disaster.after)

    assert (report.ran, report.goes_on) == ([], 30)


def test_without_the_old_tables_what_was_due_is_unknown_and_somebody_decides(disaster: Disaster) -> None:
    new = disaster.restored()

    with pytest.raises(InvalidOptionError, match="nobody knows whether they ran"):
        settle(disaster.at, new.services, reason="all is lost", old=None)
    assert len(look(disaster.at, new.services, old=None).unknown) == 200
    settle(disaster.at, new.services, reason="all is lost", old=None, unknown=Unknown.CANCEL)

    statuses = Counter(str(job.status) for job in jobs_in(new).values())
    assert statuses == {"completed": 20, "cancelled": 200, "pending": 30}


def test_a_job_that_was_cancelled_by_mistake_since_comes_back(tmp_path: Path) -> None:
    """That is what a restore may be for: a cancel is no run."""
    old = queue_of()
    job_id = old.queue.enqueue("report", run_in=9 * HOUR).job_id
    at: datetime = old.clock.now()
    export(tmp_path / "before", old.services)
    old.clock.advance(HOUR)
    old.queue.cancel(job_id, reason="a bad script")
    export(tmp_path / "after", old.services)
    new = queue_of()
    new.clock.move_to(old.clock.now())
    load(tmp_path / "before", new.services, reason="a bad script")

    report = settle(at, new.services, reason="a bad script", old=tmp_path / "after")

    assert (report.ran, report.goes_on) == ([], 1)
    assert new.queue.get(job_id).status is JobStatus.PENDING


def test_a_moment_to_come_and_an_empty_folder_are_refused_and_change_nothing(tmp_path: Path) -> None:
    new = queue_of()

    with pytest.raises(InvalidOptionError, match="has not come yet"):
        settle(new.clock.now() + HOUR, new.services, reason="typo", old=None)
    with pytest.raises(InvalidOptionError, match="no export of the table of jobs"):
        load(tmp_path, new.services, reason="typo")
    assert new.services.store.control.switches().halt is None
