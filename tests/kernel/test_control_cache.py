"""Halt and registry are read through a cache of at most five seconds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.bulk.enqueue_many import Rejected
from leasehold.features import Store
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import NotDeployedError, SystemHaltedError, UnknownJobTypeError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.registry import Registry
from leasehold.kernel.services import Services
from leasehold.operate.operator import Operator
from leasehold.testing import FakeClock
from tests.worlds import read_only_dynamo_queue, spied_queue

HALT, REGISTRY = "control", "control/registry"
CALLS = {
    "enqueue": lambda queue: queue.enqueue("user_sync"),
    "enqueue_many": lambda queue: queue.enqueue_many([NewJob(job="user_sync")]),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


def another_process(table, clock) -> Operator:
    return Operator(Services(store=Store(table), clock=clock, identity=KnownIdentity("ada")))


def test_a_thousand_jobs_in_five_seconds_read_control_once():
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    for _ in range(1000):
        queue.enqueue("user_sync")
        clock.advance(timedelta(milliseconds=4))

    assert table.reads == [HALT, REGISTRY]
    clock.advance(timedelta(seconds=5))
    queue.enqueue("user_sync")
    assert table.reads == [HALT, REGISTRY] * 2


@each_call
def test_a_halt_takes_effect_in_another_process_within_five_seconds(call):
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    call(queue)
    another_process(table, clock).halt(reason="bad deploy")

    clock.advance(timedelta(seconds=4.999))
    call(queue)
    clock.advance(timedelta(milliseconds=1))
    table.writes.clear()
    with pytest.raises(SystemHaltedError, match=r"halted since 2026-01-01T00:00:00\.000Z by ada: bad deploy"):
        call(queue)
    assert table.writes == []


def test_a_resume_takes_effect_within_five_seconds_too():
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    operator = another_process(table, clock)
    operator.halt(reason="bad deploy")
    with pytest.raises(SystemHaltedError):
        queue.enqueue("user_sync")

    operator.resume()
    clock.advance(timedelta(seconds=5))

    assert queue.enqueue("user_sync").created


def test_a_long_bulk_notices_a_halt_half_way():
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    operator = another_process(table, clock)

    def progress(done: int, _total: int) -> None:
        if done == 25:
            operator.halt(reason="bad deploy")
            clock.advance(timedelta(seconds=5))

    results = queue.enqueue_many([NewJob(job="user_sync") for _ in range(60)], progress=progress)

    refused = [result for result in results if isinstance(result, Rejected)]
    assert len(refused) == 35
    assert {type(result.error) for result in refused} == {SystemHaltedError}


def test_a_clock_that_was_set_back_keeps_no_old_answer():
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    queue.enqueue("user_sync")
    another_process(table, clock).halt(reason="bad deploy")

    clock.advance(timedelta(hours=-1))

    with pytest.raises(SystemHaltedError):
        queue.enqueue("user_sync")


def test_a_new_type_is_known_within_five_seconds():
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    with pytest.raises(UnknownJobTypeError):
        queue.enqueue("brand_new")

    another_process(table, clock).publish(Registry(types={"brand_new": JobType(name="brand_new")}))
    clock.advance(timedelta(seconds=5))

    assert queue.enqueue("brand_new").created
    with pytest.raises(UnknownJobTypeError):
        queue.enqueue("user_sync")


def test_a_table_without_a_registry_takes_no_job():
    queue, table = spied_queue(registry=None)

    with pytest.raises(NotDeployedError, match=r"'spied' holds no registry.*Operator\.publish"):
        queue.enqueue("user_sync")
    (rejected,) = queue.enqueue_many([NewJob(job="user_sync")])
    assert isinstance(rejected, Rejected)
    assert isinstance(rejected.error, NotDeployedError)
    assert table.writes == []


def test_transact_items_are_refused_while_the_system_is_halted():
    with pytest.raises(SystemHaltedError, match="by ada: bad deploy"):
        read_only_dynamo_queue(halted_by="ada", reason="bad deploy").transact_items("user_sync")


def test_who_halts_sees_it_at_once():
    queue, _ = spied_queue()
    queue.enqueue("user_sync")
    Operator(queue.services).halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError):
        queue.enqueue("user_sync")
