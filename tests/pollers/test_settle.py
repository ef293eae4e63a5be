"""What a job owes is settled, or stays owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob
from leasehold.kernel import keys
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.hooks import Feature, Hooks, Joining
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import Key, TransactionCancelled, Update
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.end import Ending
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import Write
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change


class Owing(Hooks):
    """Each job owes it something."""

    def __init__(self, settles: Callable[[Sequence[Job]], Joining]) -> None:
        self._settles = settles

    def with_end(self, end: Ending, services: Services) -> Joining:
        return Joining(is_owed=True)

    def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
        return self._settles(jobs)


class Nowhere:
    def dispatch(self, handover: Handover, function: str | None) -> None:
        pass


def ended(count: int, settles: Callable[[Sequence[Job]], Joining], *, are_members: bool = False) -> LeaseholdTest:
    """So many jobs have ended, and owe something; maybe as members of a group."""
    world = LeaseholdTest(types=[JobType(name="plain")])
    if are_members:
        world.queue.groups.create([NewJob(job="plain")] * count, mode="parallel")
    world.services.features = [Feature(name="owing", load=lambda: Owing(settles), concerns=lambda *_: True)]
    for _ in range(0 if are_members else count):
        world.queue.enqueue("plain")
    taken: list[Handover] = []

    class Taking:
        def dispatch(self, handover: Handover, function: str | None) -> None:
            taken.append(handover)

    Poller(world.services, Taking(), worker_id="tick").poll()
    for each in taken:
        world.run(each)
    return world


def polled(world: LeaseholdTest) -> PollReport:
    return Poller(world.services, Nowhere(), worker_id="settler").poll()


def counted(jobs: Sequence[Job]) -> Joining:
    """A change that is written with it."""
    key = Key(keys.job(jobs[0].job_id).table, ("COUNT", "1"))
    return Joining(changes=[Update(key=key, conditions=(), sets={"seen": 1})])


def test_what_others_outrun_again_and_again_stays_owed_and_is_not_counted(monkeypatch) -> None:
    world = ended(1, counted)

    def outrun(*_: object, **__: object) -> None:
        raise TransactionCancelled({1: None})

    with monkeypatch.context() as patched:
        patched.setattr(world.services.store.jobs, "apply_with", outrun)
        assert polled(world).settled == 0
    assert [job.owed for job in world.jobs()] == [("owing",)]
    assert polled(world).settled == 1


@pytest.mark.parametrize(
    ("outruns", "transactions"),
    [pytest.param(False, [2], id="as read"), pytest.param(True, [2, 1, 1], id="outrun by others")],
)
def test_two_members_on_a_page_are_settled_by_one_transaction_that_is_tried_once(
    outruns: bool, transactions: list[int], monkeypatch
) -> None:
    world = ended(2, counted, are_members=True)
    for _ in range(8):
        world.queue.enqueue("plain")
    jobs, asked = world.services.store.jobs, []
    whole = jobs.apply_with

    def apply_with(write: Write, changes: Sequence[Change], **options: Any) -> None:
        asked.append(len(changes))
        if outruns and len(changes) > 1:
            raise TransactionCancelled({1: None})
        whole(write, changes, **options)

    monkeypatch.setattr(jobs, "apply_with", apply_with)
    assert polled(world).settled == 2
    assert asked == transactions


def test_two_members_that_share_nothing_are_settled_without_a_transaction(monkeypatch) -> None:
    world = ended(2, lambda jobs: Joining(), are_members=True)
    for _ in range(8):
        world.queue.enqueue("plain")
    transactions: list[object] = []
    monkeypatch.setattr(world.services.store.jobs, "apply_with", lambda *given, **_: transactions.append(given))

    assert polled(world).settled == 2
    assert transactions == []


def test_what_others_outrun_once_is_settled_in_the_same_poll(monkeypatch) -> None:
    world = ended(1, counted)
    jobs, outrun = world.services.store.jobs, [TransactionCancelled({1: None})]
    whole = jobs.apply_with

    def apply_with(*given: Any, **options: Any) -> None:
        if outrun:
            raise outrun.pop()
        whole(*given, **options)

    monkeypatch.setattr(jobs, "apply_with", apply_with)
    assert polled(world).settled == 1


def test_what_was_settled_by_another_while_it_failed_here_is_not_counted() -> None:
    def fail(jobs: Sequence[Job]) -> Joining:
        settled = frozenset({"due_key", "due_lane", "owed"})
        world.services.store.table.write(Update(key=keys.job(jobs[0].job_id), conditions=(), removes=settled))
        raise StoreError("no such place")

    world = ended(1, fail)
    report = polled(world)
    assert (report.settled, report.failed) == (0, 0)


@pytest.mark.parametrize("count", [1, 10], ids=["one", "a page"])
def test_a_fault_in_what_settles_is_reported_for_each_job(count: int) -> None:
    asked: list[int] = []

    def fail(jobs: Sequence[Job]) -> Joining:
        asked.append(len(jobs))
        raise ZeroDivisionError

    world = ended(count, fail)
    report = polled(world)
    assert (report.settled, report.failed) == (0, count)
    assert asked == [1] * count
    assert [each["error_code"] for each in world.telemetry.of(Event.ENTRY_FAILED)] == ["ZeroDivisionError"] * count


@pytest.mark.parametrize("count", [1, 10], ids=["one", "a page"])
def test_a_table_that_is_away_while_jobs_settle_ends_the_poll(count: int) -> None:
    def away(jobs: Sequence[Job]) -> Joining:
        raise StoreUnavailableError("the table is away")

    with pytest.raises(StoreUnavailableError):
        polled(ended(count, away))
