"""A heartbeat keeps a short lease while its handler works. Its beats are struck by the tests, never by time."""

from __future__ import annotations

import queue
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest

from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime import lease
from leasehold.telemetry import LEASES_LOST, Event
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

LEASE = timedelta(seconds=15)


class Metronome:
    """In the place of the event that the heartbeat waits on."""

    def __init__(self) -> None:
        self.intervals: list[float] = []
        self._answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._waits = threading.Semaphore(0)

    def wait(self, interval: float) -> bool:
        self.intervals.append(interval)
        self._waits.release()
        return self._answers.get()

    def set(self) -> None:
        self._answers.put(True)

    def strike(self) -> None:
        """One beat, from its beginning to its end."""
        self._waits.acquire()
        self._answers.put(False)
        self._waits.acquire()
        self._waits.release()

    def strike_the_last(self) -> None:
        """One beat that ends the heartbeat; it is over when the handler has returned."""
        self._waits.acquire()
        self._answers.put(False)


@pytest.fixture
def metronome(monkeypatch) -> Metronome:
    made = Metronome()
    monkeypatch.setattr(lease, "threading", SimpleNamespace(Event=lambda: made, Thread=threading.Thread))
    return made


def world_where(work) -> LeaseholdTest:
    return LeaseholdTest({"long": handler_that(work)}, types=[JobType(name="long", lease=LEASE, heartbeat=True)])


def another_poll(world: LeaseholdTest) -> int:
    """What another poller reaps; it hands nothing over."""

    class Nobody:
        def dispatch(self, handover, function):
            raise AssertionError("nothing is due")

    return Poller(world.services, Nobody(), worker_id="other").poll().reaped


def test_a_handler_that_takes_ten_leases_keeps_its_job(metronome):
    def work(context):
        reaped = 0
        for _ in range(30):
            world.clock.advance(LEASE / 3)
            metronome.strike()
            reaped += another_poll(world)
        return reaped

    world = world_where(work)
    job_id = world.queue.enqueue("long").job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == 0
    assert set(metronome.intervals) == {5.0}


def test_without_a_beat_the_lease_is_lost_and_so_is_the_handler_s_say(metronome):
    def work(context):
        world.clock.advance(LEASE + timedelta(seconds=1))
        assert another_poll(world) == 1
        metronome.strike_the_last()
        return "too late"

    world = world_where(work)
    job_id = world.queue.enqueue("long").job_id

    assert world.drain().counts == {"lease_lost": 1}
    job = world.queue.get(job_id)
    assert (job.status, job.result, job.last_error_code) == (JobStatus.FAILED, None, "worker_lost")
    assert [run.number for run in job.runs] == [1]
    assert [told["transition"] for told in world.telemetry.of(Event.LEASE_LOST)] == ["extend"]
    assert world.telemetry.total(LEASES_LOST) == 1


def test_an_error_of_the_handler_after_the_loss_changes_nothing_either(metronome):
    def work(context):
        world.clock.advance(LEASE + timedelta(seconds=1))
        another_poll(world)
        metronome.strike_the_last()
        raise RuntimeError("too late")

    world = world_where(work)
    job_id = world.queue.enqueue("long").job_id

    assert world.drain().counts == {"lease_lost": 1}
    assert world.queue.get(job_id).last_error_code == "worker_lost"


def test_a_store_that_does_not_answer_costs_one_beat(metronome, monkeypatch):
    outages = [StoreUnavailableError("throttled")]
    extend = lease.extend

    def flaky(attempt):
        if outages:
            raise outages.pop()
        return extend(attempt)

    monkeypatch.setattr(lease, "extend", flaky)

    def work(context):
        for _ in range(4):
            world.clock.advance(LEASE / 3)
            metronome.strike()

    world = world_where(work)
    world.queue.enqueue("long")

    assert world.drain()["completed"] == 1
    assert outages == []


def test_a_beat_after_the_handler_completed_by_itself_is_no_loss(metronome):
    def work(context):
        context.transact_complete([], result="done")
        metronome.strike_the_last()

    world = world_where(work)
    job_id = world.queue.enqueue("long").job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == "done"
    assert world.telemetry.of(Event.LEASE_LOST) == []
    assert ["error" in told for told in world.telemetry.of(Event.JOB_COMPLETED)] == [False]


def test_the_thread_is_gone_when_the_handler_has_returned(metronome):
    world = world_where(lambda _context: None)
    world.queue.enqueue("long")
    world.drain()

    assert "leasehold-heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_a_type_that_asks_for_no_heartbeat_has_no_thread(metronome):
    world = LeaseholdTest({"short": handler_that(lambda _context: threading.active_count())})
    before = threading.active_count()
    job_id = world.queue.enqueue("short").job_id
    world.drain()

    assert world.queue.get(job_id).result == before
    assert metronome.intervals == []


def test_a_beat_that_hangs_in_an_outage_does_not_keep_the_job_from_its_end(metronome, monkeypatch):
    let_go = threading.Event()

    def hang(_attempt):
        let_go.wait(60)
        raise StoreUnavailableError("no answer")

    monkeypatch.setattr(lease, "extend", hang)

    def work(context):
        metronome.strike_the_last()
        return "done"

    world = world_where(work)
    job_id = world.queue.enqueue("long").job_id
    began = time.monotonic()
    try:
        assert world.drain()["completed"] == 1
    finally:
        let_go.set()

    # On a quiet machine it is half a second, of the two that are kept back for the end of a job.
    assert time.monotonic() - began < 20
    assert world.queue.get(job_id).result == "done"
