"""A trace context travels from who enqueues to the handler's logs, and on to what the handler enqueues."""

from __future__ import annotations

import logging
import threading

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.runtime.worker import Worker
from leasehold.telemetry import Event
from leasehold.telemetry.spans import current_trace, trace_context
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def world() -> LeaseholdTest:
    made = LeaseholdTest(types=[JobType(name="child")])

    def spawn(context):
        context.logger.info("spawning", extra={"detail": 7})
        made.queue.enqueue("child")
        return current_trace()

    made.register("parent", handler_that(spawn))
    made.register("child", handler_that(lambda _context: current_trace()))
    return made


def test_a_job_carries_the_trace_of_who_enqueued_it(world):
    with trace_context(TRACE):
        traced = world.queue.enqueue("parent").job_id
    untraced = world.queue.enqueue("parent").job_id

    assert world.queue.get(traced).trace == TRACE
    assert world.queue.get(untraced).trace is None


def test_an_explicit_trace_wins_over_the_surrounding_one(world):
    with trace_context(TRACE):
        job_id = world.queue.enqueue("parent", trace="mine").job_id

    assert world.queue.get(job_id).trace == "mine"


def test_the_handler_s_log_records_carry_the_trace_and_the_job(world, caplog):
    caplog.set_level(logging.INFO)
    job_id = world.queue.enqueue("parent", trace=TRACE).job_id
    world.drain()

    (record,) = [each for each in caplog.records if each.getMessage() == "spawning"]
    told = vars(record)
    assert (told["trace"], told["job_id"], told["job_type"], told["attempt"]) == (TRACE, job_id, "parent", 1)
    assert told["detail"] == 7
    assert record.name == "leasehold.jobs.parent"


def test_the_library_s_own_events_carry_it_too(world):
    world.queue.enqueue("parent", trace=TRACE)
    world.drain()

    for event in (Event.JOB_ENQUEUED, Event.JOB_STARTED, Event.JOB_COMPLETED):
        assert {fields["trace"] for fields in world.telemetry.of(event)} == {TRACE}


def test_jobs_that_a_handler_enqueues_carry_it_on(world):
    world.queue.enqueue("parent", trace=TRACE)
    world.drain()

    (child,) = world.jobs("child")
    assert child.trace == TRACE
    assert child.result == TRACE


def test_it_does_not_leak_from_one_job_to_the_next(world):
    world.queue.enqueue("parent", trace=TRACE)
    world.drain()
    world.queue.enqueue("parent")
    world.drain()

    assert [job.result for job in world.jobs("parent")].count(TRACE) == 1
    assert current_trace() is None


def test_it_reaches_a_handler_that_runs_in_a_thread_under_a_time_limit(world):
    worker = Worker(world.services, {"child": handler_that(lambda _context: current_trace())}, worker_id="threaded")

    class Threaded:
        def dispatch(self, handover, function):
            thread = threading.Thread(target=worker.run, args=(handover,))
            thread.start()
            thread.join()

    world.queue.enqueue("child", trace=TRACE)
    Poller(world.services, Threaded(), worker_id="poller").poll()

    assert [job.result for job in world.jobs("child")] == [TRACE]
