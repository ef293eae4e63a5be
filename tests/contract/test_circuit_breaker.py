"""A circuit breaker: a type whose runs fail too often is paused by itself, and no job of it is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, JobType, Skip, Snooze
from leasehold.circuit_breaker.circuits import Circuits, circuit_key
from leasehold.circuit_breaker.model import CircuitBreaker, Tally
from leasehold.kernel.end import Failure
from leasehold.kernel.errors import NonRetryableError, StoreUnavailableError
from leasehold.kernel.execute import Attempt, Executor
from leasehold.operate.measure import measure
from leasehold.runtime.signals import fail
from leasehold.telemetry import CIRCUIT_OPEN, Event
from tests.contract.circuits import BREAKER, FAILS, MINUTE, circuit, enqueue, guard, open_circuit, run

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.circuit_breaker.model import Circuit
    from tests.contract.world import World


def tally(world: World) -> tuple[object, object] | None:
    """The runs and failures that are counted now."""
    record = world.table.get(circuit_key("report"))
    return (record["runs"], record["failures"]) if record and "runs" in record else None


def test_the_circuit_opens_at_the_stated_rate_and_not_before(world: World) -> None:
    guard(world)

    run(world, FAILS, "done", FAILS)
    assert circuit(world) is None
    run(world, "done")

    pause = world.operator.switches().pauses["report"]
    assert (pause.by, pause.at) == ("circuit-breaker", world.clock.now())
    assert pause.reason == "2 of 4 runs failed since 2026-01-01T00:00:00.000Z"
    assert pause.circuit is not None
    assert pause.circuit.probe_at == world.clock.now() + BREAKER.probe_after


def test_a_rate_below_the_stated_one_opens_nothing_however_many_runs_there_are(world: World) -> None:
    guard(world)

    for _ in range(5):
        run(world, "done", "done", FAILS)

    assert circuit(world) is None
    assert tally(world) == (15, 5)


def test_each_window_is_counted_by_itself(world: World) -> None:
    guard(world)
    run(world, *[FAILS] * 3)

    world.clock.advance(BREAKER.window)
    run(world, *[FAILS] * 3)

    assert circuit(world) is None
    assert tally(world) == (3, 3)
    world.clock.advance(BREAKER.window - timedelta(milliseconds=1))
    run(world, FAILS)
    assert circuit(world) is not None


def test_dead_letters_and_lost_workers_count_as_failures(world: World) -> None:
    guard(world)
    run(world, NonRetryableError("never"))
    lost = world.queue.enqueue("report").job_id
    world.worker.run(world.claim_one())
    started = world.queue.enqueue("report").job_id
    world.script.then(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.worker.run(world.claim_one())
    world.let_lease_expire(started)
    world.poll()

    assert world.status(lost) is JobStatus.COMPLETED
    assert world.job(started).last_error_code == "worker_lost"
    assert tally(world) == (3, 2)


def test_what_says_nothing_about_the_type_is_not_counted(world: World) -> None:
    guard(world)

    def cancelled_while_it_runs(context: JobContext) -> None:
        world.queue.cancel(context.job_id, reason="no longer needed")
        raise FAILS

    assert run(world, Skip("nothing to do"), Snooze(3600), Cancel("no longer needed"), cancelled_while_it_runs) == [
        "skipped",
        "snoozed",
        "cancelled",
        "cancelled",
    ]
    # A hand-over that reached nobody is no run either.
    world.dispatches.failure = "throttled"
    enqueue(world, 1)
    world.poll()

    assert tally(world) is None


def test_a_type_without_a_breaker_is_not_counted_and_goes_on_failing(world: World) -> None:
    world.script.then(*[FAILS] * 30)
    for _ in range(30):
        world.queue.enqueue("email")

    assert world.work() == ["failed"] * 30
    assert world.operator.switches().pauses == {}
    assert world.table.get(circuit_key("email")) is None


def test_jobs_of_an_open_circuit_are_held_and_other_types_run(world: World) -> None:
    open_circuit(world)
    held = enqueue(world, 3)
    other = world.queue.enqueue("email").job_id

    report = world.poll()

    assert (report.held, report.claimed) == (3, 1)
    assert all(world.job(job_id).is_held for job_id in held)
    assert [handover.job_id for handover in world.dispatches.handovers] == [other]
    assert [each["reason"] for each in world.recorder.of(Event.JOB_HELD)] == ["circuit open"] * 3


def test_a_hand_over_that_meets_an_open_circuit_goes_back_and_uses_no_attempt(world: World) -> None:
    guard(world)
    enqueue(world, 5)
    *first, last = world.claim()
    world.script.then(*[FAILS] * 4)

    assert [world.worker.run(handover) for handover in first] == ["failed"] * 4
    assert world.worker.run(last) == "released"

    assert (world.status(last.job_id), world.job(last.job_id).attempts) == (JobStatus.PENDING, 0)


def test_a_pause_by_hand_is_not_touched_by_the_breaker(world: World) -> None:
    guard(world)

    def pauses_the_type(_context: JobContext) -> None:
        world.operator.pause("report", reason="maintenance")
        raise FAILS

    run(world, FAILS, FAILS, FAILS, pauses_the_type)

    pause = world.operator.switches().pauses["report"]
    assert (pause.by, pause.reason, pause.circuit) == ("ada", "maintenance", None)
    # Whoever lifts it wants the type to run.
    assert world.operator.unpause("report")
    assert run(world, "done") == ["completed"]


def test_runs_that_end_after_the_circuit_opened_change_nothing_about_it(world: World) -> None:
    guard(world)
    enqueue(world, 12)
    executor = Executor(world.services, worker_id="worker")
    attempts = [executor.begin(handover) for handover in world.claim()]
    seen: list[Circuit | None] = []
    for attempt in attempts:
        assert isinstance(attempt, Attempt)
        world.clock.advance(timedelta(milliseconds=1))
        fail(attempt, Failure(error="no answer", code="RuntimeError"))
        seen.append(circuit(world))

    assert seen[:3] == [None] * 3
    assert seen[3] is not None
    assert seen[3:] == [seen[3]] * 9
    assert len(world.recorder.of(Event.CIRCUIT_OPENED)) == 1


def test_who_is_late_to_open_a_circuit_does_not_open_one_that_was_closed_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its count and its write the circuit opens, somebody closes it, and another run is counted."""
    guard(world)
    run(world, *[FAILS] * 3)
    open_late, answers = world.store.circuits.open, []

    def overtaken(job_type: str, opened: Circuit, because: Tally) -> bool:
        world.clock.advance(timedelta(milliseconds=1))
        assert open_late(job_type, opened, because)
        assert world.operator.unpause(job_type)
        world.store.circuits.count(job_type, world.clock.now(), BREAKER.window, failed=False)
        answers.append(open_late(job_type, opened, because))
        return answers[0]

    monkeypatch.setattr(world.store.circuits, "open", overtaken)
    run(world, FAILS)

    assert answers == [False]
    assert circuit(world) is None
    assert tally(world) == (1, 0)


def test_opening_is_told_once_and_measured_each_minute(world: World) -> None:
    open_circuit(world)
    measure(world.services)
    world.operator.unpause("report")
    measure(world.services)

    (opened,) = world.recorder.of(Event.CIRCUIT_OPENED)
    assert opened["reason"] == "4 of 4 runs failed since 2026-01-01T00:00:00.000Z"
    figures = [(value, given["job_type"]) for metric, value, given in world.recorder.metrics if metric is CIRCUIT_OPEN]
    assert figures == [(1, "report"), (1, "report"), (0, "report"), (0, "report")]


def test_a_count_that_cannot_be_written_neither_fails_nor_changes_the_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard(world)

    def unavailable(*_: object, **__: object) -> None:
        raise StoreUnavailableError("throttled")

    monkeypatch.setattr(Circuits, "count", unavailable)

    assert run(world, "done", FAILS) == ["completed", "failed"]
    assert [each["what"] for each in world.recorder.of(Event.TIDY_FAILED)] == ["circuit_breaker"] * 2


def test_a_circuit_whose_breaker_is_no_longer_deployed_holds_nobody_back(world: World) -> None:
    open_circuit(world)
    held = enqueue(world, 2)
    world.poll()

    guard(world, JobType(name="report"))
    world.clock.advance(MINUTE)
    world.work()

    assert [world.status(job_id) for job_id in held] == [JobStatus.COMPLETED] * 2


@pytest.mark.parametrize("failed", [True, False])
def test_two_who_find_a_window_over_begin_one_together(world: World, failed: bool) -> None:
    """The second one's write finds the first one's window, and counts into it."""
    circuits, now, window = world.store.circuits, world.clock.now(), CircuitBreaker().window
    circuits.count("report", now - 2 * window, window, failed=True)
    begin, rivals = circuits._begin_window, [now]

    def begin_second(job_type: str, first: object, over: object) -> bool:
        if rivals:
            circuits.count("report", rivals.pop(), window, failed=True)
        return begin(job_type, first, over)  # type: ignore[arg-type]

    circuits._begin_window = begin_second  # type: ignore[method-assign]

    counted = circuits.count("report", now, window, failed=failed)

    assert isinstance(counted, Tally)
    assert (counted.runs, counted.failures) == (2, 1 + failed)
