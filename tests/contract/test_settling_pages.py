"""What a page of ended jobs owes is settled side by side, members of a group by one transaction, each as if alone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from leasehold import JobStatus, NewJob, NonRetryableError
from leasehold.features import Store
from leasehold.groups.records import group_key
from leasehold.kernel import keys
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.hooks import Feature, Hooks, Joining
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import Delete, Update
from leasehold.pool import Threads
from leasehold.telemetry import Event
from tests.contract.grouping import GROUP, callbacks, counts, group, make, members, run_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold import Job
    from leasehold.kernel.end import Ending
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Key
    from tests.contract.world import World

# More than the backlog from which on a poller works by pages.
MANY = 12
PAST_EVERY_LEASE = timedelta(minutes=15)
URL = "https://hooks.example.com/jobs"


class Killed(BaseException):
    """The poller is gone."""


class Watched:
    """The table of one poller: how many changes each transaction had, and a death at one of its calls."""

    def __init__(
        self, table: Any, *, dies_at: int | None = None, meanwhile: Callable[[], object] | None = None
    ) -> None:
        self.transactions: list[int] = []
        self.calls = 0
        self._table = table
        self._dies_at = dies_at
        self._meanwhile = meanwhile

    @property
    def name(self) -> str:
        return str(self._table.name)

    def transact(self, changes: Sequence[Change], **options: Any) -> None:
        self.transactions.append(len(changes))
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            meanwhile()
        self._struck(lambda: self._table.transact(changes, **options))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)
        return lambda *args, **options: self._struck(lambda: method(*args, **options))

    def _struck(self, make: Callable[[], Any]) -> Any:
        self.calls += 1
        if self._dies_at == 2 * self.calls - 1:
            raise Killed
        answer = make()
        if self._dies_at == 2 * self.calls:
            raise Killed
        return answer


def all_end(world: World) -> None:
    """All that is due runs, and nothing of what it owes is done yet."""
    for handover in world.claim():
        world.worker.run(handover)


def settle(world: World, table: Watched, **options: Any) -> PollReport:
    world.services.store = Store(table)
    try:
        return Poller(world.services, world.dispatches, worker_id="settler", **options).poll()
    finally:
        world.services.store = world.store


def test_members_of_a_group_are_counted_by_one_transaction(world: World) -> None:
    make(world, MANY, mode="parallel", callback=NewJob(job="email"))
    all_end(world)
    table = Watched(world.table)

    report = settle(world, table)

    # Each member leaves the index, the group ends, its callback is made and no longer kept.
    assert table.transactions == [MANY + 3]
    assert report.settled == MANY
    assert counts(world) == ("completed", MANY, 0, 0, 0)
    assert all(job.due is None and job.owed == () for job in members(world))
    assert [job.payload for job in callbacks(world)] == [{"group": group(world).progress}]


def test_a_failure_within_a_page_stops_its_group(world: World) -> None:
    make(world, 2 * MANY, mode="parallel", on_failure="stop")
    handovers = world.claim()
    world.script.then(*[None] * 3, NonRetryableError("broken"))
    for handover in handovers[:MANY]:
        world.worker.run(handover)

    assert settle(world, Watched(world.table)).settled >= MANY

    assert counts(world) == ("stopping", MANY - 1, 1, 0, 0)
    for handover in handovers[MANY:]:
        world.worker.run(handover)
    run_out(world)
    assert counts(world) == ("failed", 2 * MANY - 1, 1, 0, 0)


def test_a_member_that_was_settled_meanwhile_does_not_keep_the_others_back(world: World) -> None:
    make(world, MANY, mode="parallel")
    all_end(world)
    fourth = members(world)[3]

    def by_another_poller() -> None:
        world.table.write(Update(key=keys.job(fourth.job_id), conditions=(), sets={"due_key": f"{fourth.due}-moved"}))

    report = settle(world, Watched(world.table, meanwhile=by_another_poller))

    assert report.settled == MANY - 1
    assert counts(world) == ("running", MANY - 1, 0, 0, 0)


def test_what_was_settled_before_the_page_is_looked_up_is_not_counted_twice(world: World) -> None:
    make(world, MANY, mode="parallel")
    all_end(world)
    fourth = members(world)[3]

    class Late(Watched):
        def get_many(self, wanted: Sequence[Key]) -> Any:
            settled = frozenset({"due_key", "due_lane", "owed"})
            world.table.write(Update(key=keys.job(fourth.job_id), conditions=(), removes=settled))
            return self._table.get_many(wanted)

    report = settle(world, Late(world.table))

    assert (report.settled, report.failed) == (MANY - 1, 0)


@pytest.mark.parametrize("pool", [None, Threads(4)], ids=["in turn", "threads"])
def test_who_cannot_be_settled_touches_no_other(world: World, pool: Threads | None) -> None:
    class Refusing(Hooks):
        def with_end(self, end: Ending, services: Services) -> Joining:
            return Joining(is_owed=True)

        def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
            (job,) = jobs
            if job.payload == {"n": 3}:
                raise StoreError("no such place")
            if job.payload == {"n": 5}:
                raise ZeroDivisionError
            return Joining()

    world.services.features = [Feature(name="refusing", load=Refusing, concerns=lambda *_: True)]
    ids = [world.queue.enqueue("report", {"n": n}).job_id for n in range(MANY)]
    all_end(world)

    report = settle(world, Watched(world.table), pool=pool)

    left = [n for n, job_id in enumerate(ids) if world.job(job_id).owed]
    assert left == [3, 5]
    # One is put off, which is an answer; the other is a fault of ours.
    assert (report.settled, report.failed) == (MANY - 1, 1)
    assert [each["error"] for each in world.recorder.of(Event.SETTLE_FAILED)] == ["no such place"]
    assert len(world.recorder.of(Event.ENTRY_FAILED)) == 1


def test_members_that_owe_what_nothing_is_written_for_are_settled_one_by_one(world: World) -> None:
    class Telling(Hooks):
        told: ClassVar[list[str]] = []

        def with_end(self, end: Ending, services: Services) -> Joining:
            return Joining(is_owed=True)

        def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
            self.told.extend(job.job_id for job in jobs)
            return Joining()

    make(world, MANY, mode="parallel")
    world.services.features = [Feature(name="telling", load=Telling, concerns=lambda *_: True)]
    all_end(world)

    report = settle(world, Watched(world.table))

    assert (report.settled, report.failed) == (MANY, 0)
    assert all(job.due is None and job.owed == () for job in members(world))
    assert {*Telling.told} == {job.job_id for job in members(world)}


class Narrow(Watched):
    """Takes no transaction of many items, as DynamoDB takes none of more than 4 MB."""

    def transact(self, changes: Sequence[Change], **options: Any) -> None:
        if len(changes) > 5:
            raise StoreError("ValidationException: Transaction request size exceeds the limit")
        super().transact(changes, **options)


def test_members_that_are_too_large_together_are_settled_one_by_one(world: World) -> None:
    make(world, MANY, mode="parallel", callback=NewJob(job="email"))
    all_end(world)

    report = settle(world, Narrow(world.table))

    assert (report.settled, report.failed) == (MANY, 0)
    assert counts(world) == ("completed", MANY, 0, 0, 0)
    assert len(callbacks(world)) == 1


def test_a_fault_at_one_member_keeps_no_other_from_being_counted(world: World) -> None:
    class Faulty(Hooks):
        def with_end(self, end: Ending, services: Services) -> Joining:
            return Joining(is_owed=True)

        def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
            if any(job.payload == {"n": 3} for job in jobs):
                raise ZeroDivisionError
            return Joining()

    world.services.features = [
        *world.services.features,
        Feature(name="faulty", load=Faulty, concerns=lambda *_: True),
    ]
    make(world, MANY, mode="parallel")
    all_end(world)

    report = settle(world, Watched(world.table))

    assert (report.settled, report.failed) == (MANY - 1, 1)
    assert counts(world) == ("running", MANY - 1, 0, 0, 0)


def test_members_of_a_group_that_is_gone_leave_by_writes_of_their_own(world: World) -> None:
    """A transaction is billed twice: where no count is shared, it would cost more than it saves."""
    make(world, MANY, mode="parallel")
    all_end(world)
    world.table.write(Delete(key=group_key(GROUP), conditions=()))
    table = Watched(world.table)

    assert settle(world, table).settled == MANY
    assert table.transactions == []


def test_a_table_that_cannot_be_reached_ends_the_poll(world: World) -> None:
    make(world, MANY, mode="parallel")
    all_end(world)

    def unreachable() -> None:
        raise StoreUnavailableError("overloaded")

    with pytest.raises(StoreUnavailableError):
        settle(world, Watched(world.table, meanwhile=unreachable))

    assert counts(world) == ("running", 0, 0, 0, 0)
    run_out(world)
    assert counts(world) == ("completed", MANY, 0, 0, 0)


def test_a_page_of_webhooks_is_told_once_each_by_threads(world: World) -> None:
    ids = [world.queue.enqueue("report", {"n": n}, webhook=URL).job_id for n in range(MANY)]
    all_end(world)

    assert settle(world, Watched(world.table), pool=Threads(4)).settled == MANY

    world.work()
    world.work()
    assert sorted(each.event["data"]["job_id"] for each in world.told) == sorted(ids)


@pytest.mark.timeout(300)  # moto copies all of its tables for each transaction
def test_a_poller_that_dies_at_any_call_loses_no_count_and_counts_none_twice(world: World) -> None:
    for dies_at in range(1, 200):
        name = f"{GROUP}-{dies_at}"
        make(world, 9, mode="parallel", group_id=name, callback=NewJob(job="email"))
        all_end(world)
        table = Watched(world.table, dies_at=dies_at)
        try:
            settle(world, table)
        except Killed:
            pass
        else:
            assert dies_at > 20
            return
        for _ in range(3):
            world.clock.advance(PAST_EVERY_LEASE)
            world.work()
        ended = world.queue.groups.get(name)
        assert (str(ended.state), ended.completed, ended.left) == ("completed", 9, 0)
        assert ended.callback_job_id is not None
        assert world.status(ended.callback_job_id) is JobStatus.COMPLETED
    raise AssertionError("the poll never came to its end")
