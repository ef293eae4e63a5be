"""A process that dies at any call of a trigger or a change leaves one job per slot, and no half change."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, Operator, Queue, Registry
from leasehold.features import Store
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poller
from leasehold.kernel.services import Services
from leasehold.kernel.table import JOBS
from leasehold.schedules.records import schedule_key
from leasehold.schedules.trigger import trigger
from leasehold.testing import FakeClock, SeededRandomSource
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.ports import Handover

HOUR = timedelta(hours=1)
_CALLS = ("get", "query", "write", "transact", "insert_many")


class Killed(BaseException):
    """The process is gone."""


class DyingTable:
    """The table as seen by a process that dies at its n-th call: before it, or after it with the answer unread."""

    def __init__(self, table: MemoryTable, at: int, *, after: bool) -> None:
        self._table = table
        self._at = at
        self._after = after
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)
        return self._counted(method) if name in _CALLS else method

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self._at and not self._after:
                raise Killed
            answer = method(*args, **options)
            if self.calls == self._at:
                raise Killed
            return answer

        return call


class NoDispatcher:
    def dispatch(self, handover: Handover, function: str | None) -> None:
        return


def process(table: Any, clock: FakeClock, seed: int) -> Services:
    return Services(store=Store(table), clock=clock, random_source=SeededRandomSource(seed))


def world() -> tuple[MemoryTable, FakeClock, Services]:
    table, clock = MemoryTable(), FakeClock()
    services = process(table, clock, 1)
    Operator(services).publish(Registry(types={"report": JobType(name="report")}))
    return table, clock, services


def jobs_of(services: Services) -> list[str]:
    return [f"{job.scheduled_for:%H:%M}" for job in stored_jobs(services)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("missed", ["latest", "all"])
def test_a_trigger_that_dies_at_any_call_makes_one_job_per_slot_after_all(missed: str, after: bool) -> None:
    expected = {"latest": ["03:00"], "all": ["01:00", "02:00", "03:00"]}[missed]
    for at in count(1):
        table, clock, healthy = world()
        Queue(healthy).schedules.create("hourly", "report", every=HOUR, missed=missed, overlap="allow")
        clock.advance(3 * HOUR)
        dying = DyingTable(table, at, after=after)
        try:
            trigger("hourly", process(dying, clock, 2))
        except Killed:
            Poller(healthy, NoDispatcher(), worker_id="poller").poll()
        else:
            assert dying.calls < at
            assert at > 3  # a read of the halt, one of the schedule, and the transaction at least
            return
        assert jobs_of(healthy) == expected, at


CHANGES: dict[str, Callable[[Queue], object]] = {
    "create": lambda queue: queue.schedules.create("new", "report", every=HOUR),
    "update": lambda queue: queue.schedules.update("hourly", every=2 * HOUR),
    "pause": lambda queue: queue.schedules.pause("hourly", reason="noise"),
    "delete": lambda queue: queue.schedules.delete("hourly"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_dies_at_any_call_is_there_with_its_record_or_not_at_all(change: str, after: bool) -> None:
    for at in count(1):
        table, clock, healthy = world()
        Queue(healthy).schedules.create("hourly", "report", every=HOUR)
        before = table.get(_key("hourly"))
        dying = DyingTable(table, at, after=after)
        try:
            CHANGES[change](Queue(process(dying, clock, 2)))
        except Killed:
            pass
        else:
            assert dying.calls < at
            return
        name = "new" if change == "create" else "hourly"
        records = healthy.store.audits.trail(f"schedule#{name}")
        item = table.get(_key(name))
        heads = {record.head for record in records}
        is_changed = item != (None if change == "create" else before)
        assert len(records) == is_changed + (change != "create")
        assert item is None or item["audit_head"] in heads


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_whose_response_is_lost_is_recognised_on_its_retry(change: str) -> None:
    class Forgetful(MemoryTable):
        """Makes every transaction, loses the answer, and gets it again as a new request."""

        def transact(self, changes: Any, *, token: str, foreign: Any = ()) -> None:
            super().transact(changes, token=token)
            super().transact(changes, token=token[::-1])

    _, clock, _ = world()
    table = Forgetful()
    services = process(table, clock, 3)
    Operator(services).publish(Registry(types={"report": JobType(name="report")}))
    Queue(services).schedules.create("hourly", "report", every=HOUR)

    CHANGES[change](Queue(services))

    name = "new" if change == "create" else "hourly"
    assert len(table.query(JOBS, f"audit#schedule#{name}", limit=99).records) == 1 + (change != "create")


def _key(name: str) -> Any:

    return schedule_key(name)
