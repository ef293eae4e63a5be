"""Batches of a bulk enqueue side by side: how many at once, and what becomes of those that the table refuses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, JobType, NewJob, Rejected
from leasehold.kernel.errors import InvalidOptionError, StoreUnavailableError
from leasehold.pool import InTurn, Threads
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.table import Put
    from leasehold.pool import Pending

WORK = JobType(name="work")


class Lazy:
    """A pool that begins a call when its answer is asked for, and counts how many wait for that."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting = 0
        self.seen: list[int] = []

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        self.waiting += 1
        self.seen.append(self.waiting)
        return _Asked(self, call)


class _Asked[T]:
    def __init__(self, pool: Lazy, call: Callable[[], T]) -> None:
        self._pool = pool
        self._call = call

    def done(self) -> bool:
        return False

    def result(self) -> T:
        self._pool.waiting -= 1
        return InTurn().submit(self._call).result()


def world_with(pool: InTurn | Lazy | Threads, monkeypatch: pytest.MonkeyPatch, answers: Answers) -> LeaseholdTest:
    world = LeaseholdTest(types=[WORK])
    services = world.queue.services
    services.pool = pool
    table = services.store.table
    insert_many = table.insert_many

    def inserted(puts: Sequence[Put]) -> list[Exception | None]:
        return answers(puts, insert_many)

    monkeypatch.setattr(table, "insert_many", inserted)
    return world


type Insert = Callable[[Sequence[Put]], list[Exception | None]]
type Answers = Callable[[Sequence[Put], Insert], list[Exception | None]]


def works(count: int) -> list[NewJob]:
    return [NewJob(job="work", payload={"n": n}) for n in range(count)]


def test_batches_are_inserted_side_by_side_and_answered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    meet = threading.Barrier(4)

    def together(puts: Sequence[Put], insert: Insert) -> list[Exception | None]:
        meet.wait(10)
        return insert(puts)

    world = world_with(Threads(4), monkeypatch, together)

    results = world.queue.enqueue_many(works(100))

    made = [each.job_id for each in results if isinstance(each, Enqueued)]
    assert [world.queue.get(job_id).payload for job_id in made] == [{"n": n} for n in range(100)]


def test_half_as_many_are_under_way_after_a_throttle_and_nothing_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, calls = Lazy(8), 0

    def busy_at_first(puts: Sequence[Put], insert: Insert) -> list[Exception | None]:
        nonlocal calls
        calls += 1
        return [StoreUnavailableError("throttled")] * len(puts) if calls <= 3 else insert(puts)

    world = world_with(pool, monkeypatch, busy_at_first)

    results = world.queue.enqueue_many(works(50 * 25))

    assert all(isinstance(each, Enqueued) for each in results)
    assert max(pool.seen[:8]) == 8
    # Three tries for the first batch; the next is sent once fewer are under way, and then one more after each answer.
    assert pool.seen[8:13] == [8, 8, 8, 4, 5]
    assert len(world.jobs()) == 50 * 25


def test_a_table_that_stays_busy_rejects_the_jobs_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with(Lazy(4), monkeypatch, lambda puts, _: [StoreUnavailableError("throttled")] * len(puts))

    results = world.queue.enqueue_many(works(60))

    assert len(results) == 60
    assert all(isinstance(each, Rejected) and isinstance(each.error, StoreUnavailableError) for each in results)


def test_a_job_that_the_lost_try_had_written_is_the_callers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def loses_its_answer(puts: Sequence[Put], insert: Insert) -> list[Exception | None]:
        nonlocal calls
        calls += 1
        answers = insert(puts)
        return [StoreUnavailableError("no answer")] * len(puts) if calls == 1 else answers

    world = world_with(Lazy(4), monkeypatch, loses_its_answer)

    results = world.queue.enqueue_many(works(25))

    made = {each.job_id for each in results if isinstance(each, Enqueued)}
    assert len(made) == 25
    assert {each.job_id for each in world.jobs()} == made


def test_whoever_stops_half_way_leaves_no_call_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Lazy(4)
    world = world_with(pool, monkeypatch, lambda puts, insert: insert(puts))

    def stop(done: int, _: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.queue.enqueue_many(works(200), progress=stop)

    assert pool.waiting == 0


def test_what_is_no_new_job_is_refused_before_there_is_any_job() -> None:
    test = LeaseholdTest(types=[WORK])
    jobs = [NewJob(job="work") for _ in range(60)]

    with pytest.raises(InvalidOptionError, match="this is no NewJob"):
        test.queue.enqueue_many([*jobs, "work"])  # type: ignore[list-item]

    assert test.jobs() == []
