"""The tick's chores are bounded: payloads are kept first and in their own time, figures are a sample if need be."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import Operator, Queue, Registry
from leasehold.aws.polling import Polling, Wake
from leasehold.features import Store
from leasehold.kernel.job_type import JobType
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.services import Services
from leasehold.operate import measure
from leasehold.pollers.waiting import WaitingSettings
from leasehold.telemetry import OLDEST_DUE_AGE, QUEUE_DEPTH, Event
from leasehold.testing import FakeClock, Recorder, SeededRandomSource

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Page

TIME_LEFT = timedelta(seconds=60)


class SlowTable(MemoryTable):
    """Each query takes a moment."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__("slow")
        self.clock = clock
        self.each = timedelta(0)
        self.queries = 0

    def query(self, *given: Any, **said: Any) -> Page:
        self.queries += 1
        self.clock.advance(self.each)
        return super().query(*given, **said)


class Backlog:
    def __init__(self, jobs: int) -> None:
        self.clock, self.recorder = FakeClock(), Recorder()
        self.table = SlowTable(self.clock)
        self.services = Services(
            store=Store(self.table), clock=self.clock, random_source=SeededRandomSource(), telemetry=self.recorder
        )
        Operator(self.services).publish(Registry(types={"report": JobType(name="report")}))
        for _ in range(jobs):
            Queue(self.services).enqueue("report")
        self.clock.advance(timedelta(seconds=1))

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """Every hand-over takes two seconds: there is more due than a tick has time for."""
        self.clock.advance(timedelta(seconds=2))


def test_figures_of_more_than_a_moment_can_count_are_a_sample_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_PAGE", 5)
    backlog = Backlog(100)
    backlog.table.each = timedelta(milliseconds=100)

    measured = measure.measure(backlog.services)

    assert measured.is_sampled
    assert 5 <= measured.depth["report"] < 100
    assert backlog.recorder.of(Event.BACKLOG_SAMPLED) == [{"jobs": measured.depth["report"], "seconds": 0.5}]


def test_a_lane_of_very_many_jobs_is_counted_up_to_a_limit_and_the_figures_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "_PAGE", 5)
    monkeypatch.setattr(measure, "COUNT_LIMIT", 10)
    backlog = Backlog(30)

    measured = measure.measure(backlog.services)

    assert (measured.depth["report"], measured.is_sampled) == (10, True)


def test_what_was_counted_as_a_whole_is_no_sample() -> None:
    backlog = Backlog(7)

    assert not measure.measure(backlog.services).is_sampled
    assert backlog.recorder.total(QUEUE_DEPTH, job_type="report") == 7
    assert backlog.recorder.total(OLDEST_DUE_AGE, job_type="report") == 1
    assert backlog.recorder.of(Event.BACKLOG_SAMPLED) == []


def test_a_tick_with_more_due_than_it_has_time_for_still_keeps_payloads_and_then_measures() -> None:
    backlog = Backlog(100)
    tick = Polling(
        backlog.services,
        backlog,
        worker_id="poller",
        time_left=TIME_LEFT,
        start_another=lambda _: None,
        waiting=WaitingSettings(),
    )

    backlog.services.window = None  # nobody starts these, and all of them are to be handed over

    report = tick.answer(Wake.parse({"source": "leasehold.tick"}))

    assert report.stopped_by == "deadline"
    kept = backlog.recorder.of(Event.PAYLOADS_KEPT)
    assert [(each["done"], each["missing"]) for each in kept] == [(True, 0)]
    assert backlog.recorder.total(QUEUE_DEPTH, job_type="report") > 0


def test_payloads_are_kept_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Services) -> None:
        raise RuntimeError("figures are not to be had")

    monkeypatch.setattr(measure, "measure", broken)
    backlog = Backlog(1)
    tick = Polling(
        backlog.services,
        backlog,
        worker_id="poller",
        time_left=TIME_LEFT,
        start_another=lambda _: None,
        waiting=WaitingSettings(),
    )

    with pytest.raises(RuntimeError, match="figures"):
        tick.answer(Wake.parse({"source": "leasehold.tick"}))

    assert len(backlog.recorder.of(Event.PAYLOADS_KEPT)) == 1
