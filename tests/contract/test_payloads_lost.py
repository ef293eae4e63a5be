"""Payloads that are gone, damaged or out of reach for a while: no job is lost with them, and none runs without."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus, NewJob
from leasehold.features import Store
from leasehold.kernel import keys, partitions
from leasehold.kernel.enqueue import Enqueued
from leasehold.kernel.errors import StoreUnavailableError, WrongStateError
from leasehold.kernel.table import Delete, Update
from leasehold.operate.redrive import DeadJobMissingError
from leasehold.scheduler import JobScheduler
from tests.contract.large import large, lose_payload
from tests.sample_payloads import order_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Clock
    from leasehold.kernel.table import Key, Put, Record, Table
    from tests.contract.world import World

DAMAGED = b"\x00 not packed by anybody"


class Unreachable:
    """A table that does not answer some calls: those for payloads, or a batch of inserts."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.reads_fail_until = clock.now()
        self.batches_that_fail: set[int] = set()
        self.batches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def get(self, key: Key) -> Record | None:
        if key.values[0].startswith("payload#") and self._clock.now() < self.reads_fail_until:
            raise StoreUnavailableError("not now")
        return self._table.get(key)

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        self.batches += 1
        if self.batches in self.batches_that_fail:
            raise StoreUnavailableError("not now")
        return self._table.insert_many(puts)


@pytest.fixture
def outage(world: World) -> Unreachable:
    table = Unreachable(world.table, world.clock)
    world.services.store = Store(table)
    return table


def damage(world: World, job_id: JobId) -> None:
    """As a slip of somebody's hand, or a restore that went wrong."""
    job = world.store.jobs.get(job_id)
    assert job is not None
    key = keys.job(job_id) if job.payload_name is None else partitions.payload(job_id, job.payload_name)
    world.table.write(Update(key=key, conditions=(), sets={"payload": DAMAGED}))


@pytest.mark.parametrize("payload", [large(), order_event(700)], ids=["apart", "inline"])
def test_a_damaged_payload_makes_a_dead_letter_at_once_which_says_so(world: World, payload: dict[str, Any]) -> None:
    job_id = world.queue.enqueue("report", payload).job_id
    damage(world, job_id)

    assert world.work() == ["dead_letter"]

    dead_letter = world.operator.dead_letter(job_id)
    assert (dead_letter.error_code, dead_letter.payload) == ("payload_unreadable", {"$missing": True})
    assert "enqueue the job anew" in dead_letter.failure_reason
    assert world.queue.get(job_id).payload == {"$missing": True}
    with pytest.raises(WrongStateError, match="enqueue it anew"):
        world.operator.redrive(job_id, reason="again")


def test_a_damaged_payload_does_not_keep_a_lost_worker_from_being_noticed(world: World) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    world.claim_one()
    damage(world, job_id)
    for _ in range(3):
        world.clock.advance(timedelta(hours=30))
        world.work()

    assert world.status(job_id) is JobStatus.DEAD_LETTER


def test_a_damaged_dead_letter_can_still_be_looked_at(world: World) -> None:
    job_id = world.queue.enqueue("once", {"n": 1}).job_id
    world.script.then(RuntimeError("no"))
    world.work()
    world.table.write(Update(key=partitions.dead_letter(job_id), conditions=(), sets={"payload": DAMAGED}))

    assert world.operator.dead_letter(job_id).payload == {"$missing": True}


@pytest.mark.parametrize("again", ["redrive", "retry"])
def test_a_job_that_died_without_its_payload_is_not_run_with_the_word_in_its_place(world: World, again: str) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    lose_payload(world, job_id)
    world.work()

    with pytest.raises(WrongStateError, match=r"without payload.*enqueue it anew"):
        getattr(world.operator if again == "redrive" else world.queue, again)(job_id, reason="again")

    assert world.work() == []
    assert world.operator.dead_letter(job_id).is_open


def test_a_dead_letter_whose_job_is_gone_is_not_run_again(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    lose_payload(world, job_id)
    world.work()
    world.table.write(Delete(key=keys.job(job_id), conditions=()))

    with pytest.raises(DeadJobMissingError, match="no dead report job"):
        world.operator.redrive(job_id, reason="again")


def test_a_dead_job_whose_payload_expired_is_shown_with_its_dead_letters_copy(world: World) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    world.script.then(RuntimeError("no"))
    world.work()
    lose_payload(world, job_id)

    assert world.queue.get(job_id).payload == large()
    assert world.queue.wait(job_id, timeout=timedelta(seconds=1)).payload == large()


def test_a_handler_waits_for_a_payload_that_is_out_of_reach(world: World, outage: Unreachable) -> None:
    world.queue.enqueue("once", large())
    outage.reads_fail_until = world.clock.now() + timedelta(seconds=10)

    assert world.work() == ["completed"]


def test_a_last_failure_waits_for_the_payload_that_its_dead_letter_needs(world: World, outage: Unreachable) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    # Longer than the handler waits for it, and not as long as there is time to write its end.
    outage.reads_fail_until = world.clock.now() + 0.7 * world.types["once"].timeout

    assert world.work() == ["dead_letter"]

    dead_letter = world.operator.dead_letter(job_id)
    assert dead_letter.error_code == "store_unavailable"
    assert dead_letter.payload == large()


def test_the_scheduler_port_keeps_what_it_started_when_the_next_is_out_of_reach(
    world: World, outage: Unreachable
) -> None:
    first = world.queue.enqueue("report", {"n": 1}).job_id
    world.clock.advance(timedelta(milliseconds=1))
    world.queue.enqueue("report", large())
    outage.reads_fail_until = world.clock.now() + timedelta(hours=1)
    port = JobScheduler(world.queue)

    assert [job.job_id for job in port.get_pending_jobs(5)] == [first]
    port.mark_completed(first)
    assert world.status(first) is JobStatus.COMPLETED


def test_a_batch_that_is_out_of_reach_does_not_hide_what_became_of_the_others(
    world: World, outage: Unreachable
) -> None:
    outage.batches_that_fail = {2}

    results = world.queue.enqueue_many(NewJob(job="report", payload={"n": n}) for n in range(75))

    made = [isinstance(result, Enqueued) for result in results]
    assert made == [True] * 25 + [False] * 25 + [True] * 25
