"""A handler that runs too long is stopped, or left behind, and its failure recorded."""

from __future__ import annotations

import signal
import sys
import threading
from datetime import timedelta

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.runtime import worker as worker_module
from leasehold.runtime.timing import JobTimeoutError, run_within
from leasehold.runtime.worker import Worker
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

AT_ONCE = timedelta(milliseconds=10)
LONG = timedelta(seconds=50)


def in_another_thread(work):
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


def wait_for_ever() -> None:
    threading.Event().wait()


@pytest.fixture
def main_thread():
    assert threading.current_thread() is threading.main_thread(), "an alarm can only be tested in the main thread"


@pytest.mark.usefixtures("main_thread")
def test_in_the_main_thread_an_alarm_interrupts_the_work_where_it_is():
    with pytest.raises(JobTimeoutError, match=r"longer than its time limit of 0\.01 s"):
        run_within(AT_ONCE, wait_for_ever)


@pytest.mark.usefixtures("main_thread")
def test_the_alarm_is_put_back_as_it_was():
    handler, pending = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)

    assert run_within(LONG, lambda: "done") == "done"
    with pytest.raises(JobTimeoutError):
        run_within(AT_ONCE, wait_for_ever)
    with pytest.raises(ZeroDivisionError):
        run_within(LONG, lambda: 1 // 0)

    assert signal.getsignal(signal.SIGALRM) is handler
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == (pending[0] > 0)


def test_in_another_thread_the_work_is_left_behind():
    is_over = threading.Event()

    error = in_another_thread(lambda: run_within(AT_ONCE, is_over.wait))
    is_over.set()

    assert isinstance(error, JobTimeoutError)


def test_in_another_thread_results_and_errors_come_back():
    assert in_another_thread(lambda: run_within(LONG, lambda: "done")) == "done"
    assert isinstance(in_another_thread(lambda: run_within(LONG, lambda: 1 // 0)), ZeroDivisionError)
    assert isinstance(in_another_thread(lambda: run_within(LONG, lambda: sys.exit(3))), SystemExit)


def test_a_job_that_ran_too_long_has_failed_with_that_code_and_is_tried_again():
    world = LeaseholdTest(types=[JobType(name="slow", timeout=AT_ONCE)])
    worker = Worker(world.services, {"slow": handler_that(lambda _context: wait_for_ever())}, worker_id="w")
    executions = []

    class HandOver:
        def dispatch(self, handover, function):
            executions.append(worker.run(handover))

    job_id = world.queue.enqueue("slow").job_id
    Poller(world.services, HandOver(), worker_id="poller").poll()

    assert executions == ["failed"]
    job = world.queue.get(job_id)
    assert (job.last_error_code, job.attempts) == ("timeout", 1)


@pytest.mark.parametrize(
    ("timeout", "remaining", "limit"),
    [(60, None, 60), (60, 300, 60), (60, 30, 28), (60, 1.5, 0.75), (60, 1, 0.5)],
)
def test_the_limit_leaves_time_to_write_the_failure_before_the_platform_ends(timeout, remaining, limit, monkeypatch):
    limits = []
    monkeypatch.setattr(worker_module, "run_within", lambda allowed, _work: limits.append(allowed.total_seconds()))
    world = LeaseholdTest(types=[JobType(name="slow", timeout=timedelta(seconds=timeout))])
    worker = Worker(world.services, {"slow": handler_that(lambda _context: None)}, worker_id="w")

    class HandOver:
        def dispatch(self, handover, function):
            worker.run(handover, remaining=None if remaining is None else timedelta(seconds=remaining))

    world.queue.enqueue("slow")
    Poller(world.services, HandOver(), worker_id="poller").poll()

    assert limits == [limit]
