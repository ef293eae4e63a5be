"""Claims of a page by one call: every job is handed over once, in order, whatever the batch was told."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus
from leasehold.features import Store
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.execute import Attempt
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Priority, run_lane
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import ConditionFailed, StatementRefused
from leasehold.runtime.signals import snooze
from leasehold.telemetry import Event
from tests.contract.engines import without_moto
from tests.contract.world import Dispatches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.jobs import DuePage
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Change, Record, Table, Update
    from tests.contract.world import World

PAGE = 25
pytestmark = without_moto


class Batches:
    """A table that notes what is written in batches and alone, and lets a test answer in its place."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.sizes: list[int] = []
        self.alone = 0
        self.answer: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        self.sizes.append(len(updates))
        return self.answer(updates) if self.answer else self._table.update_many(updates)

    def write(self, change: Change) -> Record:
        self.alone += change.key.values[0].startswith("job#")
        return self._table.write(change)


@pytest.fixture
def batches(world: World) -> Batches:
    noted = Batches(world.table)
    world.services.store = Store(noted)
    return noted


def enqueue(world: World, count: int, job_type: str = "report", **options: Any) -> list[str]:
    """One after the other, so that they have an order."""
    made: list[str] = []
    for _ in range(count):
        made.append(world.queue.enqueue(job_type, **options).job_id)
        world.clock.advance(timedelta(milliseconds=1))
    return made


def ids(handovers: list[Handover]) -> list[str]:
    return [handover.job_id for handover in handovers]


def test_a_page_of_plain_jobs_is_claimed_by_one_call_and_handed_over_in_order(world: World, batches: Batches) -> None:
    jobs = enqueue(world, PAGE + 10)
    batches.alone = 0

    report = world.poll()

    assert (batches.sizes, batches.alone) == ([PAGE, 10], 0)
    assert ids(world.dispatches.handovers) == jobs
    assert (report.claimed, report.dispatched, report.lost_races) == (PAGE + 10, PAGE + 10, 0)
    assert [world.worker.run(each) for each in world.dispatches.handovers] == ["completed"] * len(jobs)
    assert all(world.job(job_id).attempts == 1 for job_id in jobs)


def test_a_few_jobs_are_claimed_one_by_one_and_cost_no_watch(world: World, batches: Batches) -> None:
    enqueue(world, 7)

    assert world.poll().claimed == 7
    assert batches.sizes == []


def test_retried_and_snoozed_jobs_are_plain_again(world: World, batches: Batches) -> None:
    enqueue(world, 8)
    for handover in world.claim():
        attempt = world.worker.executor.begin(handover)
        assert isinstance(attempt, Attempt)
        snooze(attempt, timedelta(seconds=10))
    world.clock.advance(timedelta(seconds=10))

    assert world.poll().claimed == 8
    assert batches.sizes == [8, 8]


def test_jobs_that_a_batch_refuses_for_what_they_are_are_claimed_alone(world: World, batches: Batches) -> None:
    soon = world.clock.now() + timedelta(hours=1)
    jobs = enqueue(world, PAGE + 8, start_by=soon)

    report = world.poll()

    assert sorted(ids(world.dispatches.handovers)) == sorted(jobs)
    assert (report.claimed, report.lost_races) == (PAGE + 8, 0)
    # After the first page it is known what these are.
    assert batches.sizes == [PAGE]


def test_jobs_that_are_too_late_to_start_end_though_they_came_in_a_batch(world: World, batches: Batches) -> None:
    jobs = enqueue(world, 8, start_by=world.clock.now() + timedelta(seconds=1))
    world.clock.advance(timedelta(seconds=2))

    assert (world.poll().expired, batches.sizes) == (8, [8])
    assert {world.status(job_id) for job_id in jobs} == {JobStatus.CANCELLED}


def test_limited_paused_and_plain_jobs_of_one_page_each_go_their_own_way(world: World, batches: Batches) -> None:
    limited, plain, paused = enqueue(world, 4, "limited"), enqueue(world, 4), enqueue(world, 4, "email")
    world.operator.pause("email", reason="a test")

    report = world.poll()

    assert batches.sizes == [4]
    assert sorted(ids(world.dispatches.handovers)) == sorted([*limited[:2], *plain])
    assert report.held == 2 + len(paused)


def test_two_plain_jobs_among_others_are_claimed_by_one_call_and_one_is_claimed_alone(
    world: World, batches: Batches
) -> None:
    enqueue(world, 8, "limited")
    enqueue(world, 2)
    assert world.poll().claimed == 2 + 2
    enqueue(world, 8, "limited")
    enqueue(world, 1)
    assert world.poll().claimed == 1

    assert batches.sizes == [2]


def test_an_answer_that_was_lost_is_recognised_by_its_token(world: World, batches: Batches) -> None:
    jobs = enqueue(world, 8)

    def lose(updates: Sequence[Update]) -> list[Exception | None]:
        world.table.update_many(updates)
        return [ConditionFailed(None) for _ in updates]

    batches.answer = lose

    report = world.poll()

    assert ids(world.dispatches.handovers) == jobs
    assert (report.claimed, report.lost_races) == (8, 0)
    assert [world.worker.run(each) for each in world.dispatches.handovers] == ["completed"] * 8


def test_what_another_poller_took_is_a_lost_race_and_the_rest_is_handed_over(world: World, batches: Batches) -> None:
    jobs = enqueue(world, 12)
    theirs: list[Handover] = []

    class Rival:
        def dispatch(self, handover: Handover, function: str | None) -> None:
            theirs.append(handover)

    def be_slow(updates: Sequence[Update]) -> list[Exception | None]:
        batches.answer = None
        rival = Poller(world.services, Rival(), worker_id="rival", settings=PollSettings(poll_limit=3))
        rival.services.store.pollers.give_up_shard_lock(0, "poller")
        rival.poll(should_stop=lambda: "enough" if len(theirs) == 3 else None)
        return world.table.update_many(updates)

    batches.answer = be_slow

    report = world.poll()

    assert sorted(ids(world.dispatches.handovers) + ids(theirs)) == sorted(jobs)
    assert report.lost_races >= 1
    assert report.claimed == len(world.dispatches.handovers) == 12 - len(theirs)


def test_what_a_batch_has_claimed_is_left_alone_though_others_of_it_were_lost_and_the_index_lags(
    world: World, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = enqueue(world, 10)
    lanes: dict[str, DuePage] = {}
    whole = world.services.store.jobs.due

    def as_first_read(lane: str, *args: Any, **options: Any) -> DuePage:
        return lanes.setdefault(lane, whole(lane, *args, **options))

    monkeypatch.setattr(world.services.store.jobs, "due", as_first_read)
    entries = as_first_read(run_lane(Priority.NORMAL, 0), world.clock.now(), limit=PAGE, after=None).entries
    rival = Poller(world.services, Dispatches(), worker_id="rival")
    lost = [entry for entry in (entries[2], entries[4]) if isinstance(entry, DueJob)]
    assert rival.poll(hints=lost, lanes=()).claimed == 2

    report = world.poll()

    assert batches.sizes == [10]
    assert (report.claimed, report.lost_races) == (8, 2)
    assert ids(world.dispatches.handovers) == [*jobs[:2], jobs[3], *jobs[5:]]


def test_an_engine_that_takes_no_such_statement_gets_single_claims_and_it_is_said_once(
    world: World, batches: Batches
) -> None:
    jobs = enqueue(world, PAGE + 10)
    batches.answer = lambda updates: [StatementRefused("ValidationError: no UPDATE here") for _ in updates]

    first = world.poll()
    later = enqueue(world, 10)
    second = world.poll()

    assert (first.claimed, second.claimed) == (PAGE + 10, 10)
    assert ids(world.dispatches.handovers) == [*jobs, *later]
    assert batches.sizes == [PAGE]
    assert len(world.recorder.of(Event.BATCH_REFUSED)) == 1


def test_what_cannot_be_handed_over_in_time_is_given_back_at_once(world: World, batches: Batches) -> None:
    jobs = enqueue(world, 10)

    report = world.poller.poll(
        should_stop=lambda: "time is up" if len(world.dispatches.handovers) == 3 else None,
    )

    assert (report.claimed, report.dispatched, report.released) == (10, 3, 7)
    assert report.stopped_by == "time is up"
    assert {world.status(job_id) for job_id in jobs[3:]} == {JobStatus.PENDING}
    assert world.poll().claimed == 7
    assert sorted(ids(world.dispatches.handovers)) == sorted(jobs)


def test_what_is_claimed_is_handed_over_though_the_table_cannot_be_reached_any_more(
    world: World, batches: Batches
) -> None:
    plain = enqueue(world, 4)
    enqueue(world, 1, "limited")
    more = enqueue(world, 4)

    def unreachable(*_args: object, **_options: object) -> None:
        raise StoreUnavailableError("gone")

    batches.transact = unreachable  # type: ignore[attr-defined]

    with pytest.raises(StoreUnavailableError):
        world.poll()

    assert ids(world.dispatches.handovers) == [*plain, *more]
