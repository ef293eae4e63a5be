"""Direct runs in the handler's process: what the handler may know and do, and what its caller is answered."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import pytest

from leasehold.direct_runs.model import DirectRun, DirectRunError
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.job import MAX_ARTIFACTS, MAX_ERROR_BYTES
from leasehold.kernel.job_type import JobType
from leasehold.runtime.worker import Worker
from leasehold.telemetry import Event
from leasehold.telemetry.spans import current_trace, trace_context
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that, raising

TIMEOUT = timedelta(seconds=30)
UNTIL = datetime(2027, 1, 1, tzinfo=UTC)
RUN = DirectRun(run_id="direct-1", job_type="work", payload_text="{}", until=UNTIL, trace="t")


def world_where(work) -> LeaseholdTest:
    return LeaseholdTest({"work": handler_that(work)}, types=[JobType(name="work", timeout=TIMEOUT, concurrency=1)])


def run_now(work, **options):
    return world_where(work).queue.run_now("work", {"n": 1}, **options)


def test_the_context_stands_for_a_run_without_a_job():
    told = []

    def look(context):
        told.append((context.job_id, context.job_type, context.attempt, context.idempotency_key, context.trace))
        assert context.started_at == world.clock.now()
        assert context.deadline == world.clock.now() + TIMEOUT
        assert context.cancel_requested is False

    world = world_where(look)
    with trace_context("00-4bf9"):
        world.queue.run_now("work")

    ((run_id, *rest),) = told
    assert run_id.startswith("direct-")
    assert rest == ["work", 1, run_id, "00-4bf9"]
    assert world.jobs() == []


def test_there_is_no_lease_to_prolong_and_no_job_that_artifacts_could_be_kept_on():
    def work(context):
        context.add_artifact("s3://reports/1")
        return context.extend() == context.deadline

    assert run_now(work) is True


def test_artifacts_are_held_to_the_same_bounds():
    def work(context):
        for number in range(MAX_ARTIFACTS + 1):
            context.add_artifact(str(number))

    with pytest.raises(DirectRunError, match="at most 20 artifacts"):
        run_now(work)


def test_the_handlers_logger_says_which_run_it_is(caplog):
    with caplog.at_level(logging.INFO, "leasehold.jobs.work"):
        run_now(lambda context: context.logger.info("busy"))

    (line,) = caplog.records
    assert line.run_id.startswith("direct-")
    assert line.job_type == "work"


def test_the_handler_runs_in_the_callers_trace():
    with trace_context("00-4bf9"):
        assert run_now(lambda _: current_trace()) == "00-4bf9"


def test_the_result_comes_back_as_what_it_was():
    value = {"at": UNTIL, "words": [1, None, "ü"]}

    assert run_now(lambda _: value) == value
    assert run_now(lambda _: None) is None


@pytest.mark.parametrize(
    ("result", "code"), [("x" * 70_000, "payload_too_large"), ({1, 2}, "invalid_payload")], ids=["large", "a set"]
)
def test_a_result_that_a_job_could_not_have_is_refused_here_too(result, code):
    with pytest.raises(DirectRunError) as refused:
        run_now(lambda _: result)

    assert refused.value.error_code == code


def test_an_error_has_the_end_of_its_traceback_and_its_code():
    with pytest.raises(DirectRunError, match=r"of 'work' failed \(ValueError\): ValueError: no such file$") as failed:
        run_now(raising(ValueError("\n" * 20_000 + "ValueError: no such file")))

    assert failed.value.error_code == "ValueError"
    assert len(failed.value.error.encode()) == MAX_ERROR_BYTES
    assert failed.value.run_id.startswith("direct-")


def test_a_handler_that_exits_is_an_error_and_not_the_end_of_the_worker():
    with pytest.raises(DirectRunError, match="SystemExit"):
        run_now(raising(SystemExit(3)))


def test_a_handler_that_completed_with_its_own_writes_has_said_it_all(monkeypatch):
    written = []

    def work(context):
        context.transact_complete([{"Put": {}}], result={"by": "transaction"})
        raise RuntimeError("too late")

    world = world_where(work)
    table = world.services.store.table
    real = table.transact

    def transact(changes, *, token, foreign=()):
        written.extend(foreign)
        real(changes, token=token)

    monkeypatch.setattr(table, "transact", transact)

    assert world.queue.run_now("work") == {"by": "transaction"}
    assert written == [{"Put": {}}]


def test_a_handler_that_takes_too_long_is_stopped():
    worker = Worker(
        world_where(lambda _: None).services,
        {"work": handler_that(lambda _: _endless())},
        worker_id="w",
        limit_time=True,
    )

    answer = worker.run_directly(RUN, remaining=timedelta(milliseconds=50))

    assert answer.error_code == "timeout"


def _endless() -> None:
    while True:
        pass


def test_a_type_that_the_worker_has_no_handler_for_is_an_error():
    answer = Worker(world_where(lambda _: None).services, {}, worker_id="w").run_directly(RUN)

    assert answer.error_code == "non_retryable"


def test_a_payload_that_does_not_fit_the_model_is_an_error_that_says_so():
    with pytest.raises(DirectRunError, match="payload does not fit Anything") as refused:
        world_where(lambda _: None).queue.run_now("work", [1])

    assert refused.value.error_code == "invalid_job_payload"


def test_each_run_is_told_when_it_is_reserved_starts_and_ends():
    world = world_where(raising(RuntimeError("no ink")))
    with pytest.raises(DirectRunError):
        world.queue.run_now("work")

    ids = {
        fields["run_id"]
        for event in (Event.DIRECT_RUN_RESERVED, Event.DIRECT_RUN_STARTED, Event.DIRECT_RUN_ENDED)
        for fields in world.telemetry.of(event)
    }
    assert len(ids) == 1
    (ended,) = world.telemetry.of(Event.DIRECT_RUN_ENDED)
    assert (ended["error_code"], ended["duration_ms"]) == ("RuntimeError", 0)


@pytest.mark.parametrize(
    "event",
    [
        {"direct_run": "direct-1"},
        {**RUN.to_event(), "job_type": "No Type"},
        {**RUN.to_event(), "until": "soon"},
    ],
)
def test_an_event_that_is_no_direct_run_is_refused(event):
    assert DirectRun.is_in(event)
    with pytest.raises(InvalidInputError, match=r"not a direct run.* See events/direct_run.json"):
        DirectRun.from_event(event)


@pytest.mark.parametrize("run", [RUN, DirectRun(run_id="r", job_type="work", payload_text="{}", until=UNTIL)])
def test_the_event_gives_back_the_run(run):
    assert DirectRun.from_event(run.to_event()) == run
