"""Logs are JSON lines, metrics are CloudWatch's embedded format, with exactly the declared dimensions."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.poll import Poller
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.worker import Worker
from leasehold.telemetry import (
    CLAIMED,
    COMPLETED,
    HEARTBEAT,
    LATENESS,
    METRICS,
    NAMESPACE,
    OLDEST_DUE_AGE,
    PROCESSING,
    QUEUE_DEPTH,
    Event,
    Metric,
)
from leasehold.testing.queue import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.ports import Handover

DETAILS = {Event.JOB_ENQUEUED, Event.JOB_CLAIMED, Event.JOB_STARTED}
EXPECTED_LEVELS = {
    Event.JOB_DEAD_LETTERED: "ERROR",
    Event.JOB_FAILED: "WARNING",
    Event.JOB_REAPED: "WARNING",
    Event.LEASE_LOST: "WARNING",
    Event.ENTRY_FAILED: "WARNING",
    Event.SETTLE_FAILED: "WARNING",
    Event.TIDY_FAILED: "WARNING",
    Event.REPORT_FAILED: "WARNING",
}


@pytest.fixture
def telemetry(request) -> PowertoolsTelemetry:
    # Powertools keeps one logger per service: each test has its own.
    return PowertoolsTelemetry(request.node.name, per_type=True)


@pytest.fixture
def flushed(telemetry, capsys) -> Callable[[], list[dict[str, Any]]]:
    """The metric lines that a flush writes."""

    def flush() -> list[dict[str, Any]]:
        telemetry.flush()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return flush


def logged(service: str, *events: tuple[Event, dict[str, Any]]) -> list[dict[str, Any]]:
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry(service, stream=stream)
    for event, fields in events:
        telemetry.event(event, **fields)
    telemetry.flush()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def sample(metric: Metric) -> dict[str, str]:
    return {name: f"a_{name}" for name in metric.dimensions}


@pytest.mark.parametrize("event", [event for event in Event if event not in DETAILS])
def test_an_event_is_one_json_line_with_its_fields_and_level(event):
    fields = {"job_id": "j", "job_type": "t", "attempt": 1, "will_retry": True, "trace": None}

    (line,) = logged(f"events-{event}", (event, fields))

    assert line["event"] == line["message"] == str(event)
    assert (line["job_id"], line["attempt"], line["will_retry"]) == ("j", 1, True)
    assert "trace" not in line
    if event in EXPECTED_LEVELS:
        assert line["level"] == EXPECTED_LEVELS[event]


def test_what_goes_well_is_told_at_the_usual_level():
    quiet = [(Event.JOB_RELEASED, {}), (Event.JOB_COMPLETED, {}), (Event.POLL_FINISHED, {"claimed": 1})]

    assert [line["level"] for line in logged("levels", *quiet)] == ["INFO"] * 3


def test_a_poll_says_what_it_did_and_one_that_did_nothing_only_to_whoever_asks_for_details(monkeypatch):
    idle = (Event.POLL_FINISHED, {"worker_id": "w", "scanned": 3, "claimed": 0, "stopped_by": "nothing due"})
    busy = (Event.POLL_FINISHED, {"worker_id": "w", "scanned": 3, "claimed": 2, "held": 0, "stopped_by": "time"})

    (line,) = logged("polls", idle, busy)
    assert (line["claimed"], line["stopped_by"], "held" in line) == (2, "time", False)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    assert [each["level"] for each in logged("all-polls", idle)] == ["DEBUG"]


def test_what_the_line_of_an_end_says_again_is_logged_for_whoever_asks_for_details(monkeypatch):
    details = [(event, {"job_id": "j"}) for event in sorted(DETAILS)]

    assert logged("without-details", *details) == []
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    assert [line["event"] for line in logged("with-details", *details)] == [str(event) for event in sorted(DETAILS)]


def test_metrics_are_sent_whatever_the_level_of_the_log(monkeypatch):
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("only-errors", stream=stream)
    telemetry.event(Event.JOB_COMPLETED, job_id="j")
    telemetry.measure(HEARTBEAT, 1)

    telemetry.flush()

    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert line[HEARTBEAT.name] == [1.0]
    assert "job_id" not in line


def test_without_metrics_per_type_each_counts_once_for_the_queue():
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("for-the-queue", stream=stream)
    for job_type in ("a", "b"):
        telemetry.measure(PROCESSING, 0.5, job_type=job_type)
        telemetry.measure(COMPLETED, 1, job_type=job_type, status="success")
        telemetry.measure(CLAIMED, 1, job_type=job_type)

    telemetry.flush()

    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert line[PROCESSING.name] == [0.5, 0.5]
    assert [each["Dimensions"] for each in line["_aws"]["CloudWatchMetrics"]] == [[[]], [["status"]]]
    assert CLAIMED.name not in line


def test_the_line_of_a_completed_job_carries_its_metrics():
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("one-line", per_type=True, stream=stream)
    telemetry.event(Event.JOB_STARTED, job_id="j", job_type="a")
    telemetry.measure(LATENESS, 0.1, job_type="a")
    telemetry.event(Event.JOB_COMPLETED, job_id="j", job_type="a", attempt=1, duration_ms=500)
    telemetry.measure(PROCESSING, 0.5, job_type="a")
    telemetry.measure(COMPLETED, 1, job_type="a", status="success")
    telemetry.measure(CLAIMED, 1, job_type="another")

    telemetry.flush()

    line, other = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (line["event"], line["job_id"], line["attempt"], line["level"]) == ("job_completed", "j", 1, "INFO")
    assert [each["Dimensions"] for each in line["_aws"]["CloudWatchMetrics"]] == [
        [["job_type"]],
        [["job_type", "status"]],
    ]
    assert (line["job_type"], line["status"]) == ("a", "success")
    assert [line[metric.name] for metric in (LATENESS, PROCESSING, COMPLETED)] == [[0.1], [0.5], [1.0]]
    assert (other["job_type"], other[CLAIMED.name]) == ("another", [1.0])


def test_two_jobs_completed_in_one_invocation_have_a_line_each():
    lines = logged("two", *((Event.JOB_COMPLETED, {"job_id": each, "job_type": "a"}) for each in ("one", "two")))

    assert [line["job_id"] for line in lines] == ["one", "two"]


def test_a_message_of_its_own_is_the_message():
    (line,) = logged("halted", (Event.POLL_PAUSED, {"message": "job worker paused due to system halt", "by": "ada"}))

    assert (line["message"], line["event"], line["by"]) == (
        "job worker paused due to system halt",
        "poll_paused",
        "ada",
    )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_has_its_unit_and_exactly_its_dimensions(metric, telemetry, flushed):
    telemetry.measure(metric, 2.5, **sample(metric))

    (line,) = flushed()

    (declared,) = line["_aws"]["CloudWatchMetrics"]
    assert declared["Namespace"] == NAMESPACE == "Leasehold"
    assert declared["Metrics"] == [{"Name": metric.name, "Unit": str(metric.unit)}]
    assert [sorted(names) for names in declared["Dimensions"]] == [sorted(metric.dimensions)]
    assert line[metric.name] == [2.5]
    assert {name: line[name] for name in metric.dimensions} == sample(metric)


def test_the_service_of_the_environment_is_no_dimension(telemetry, flushed, monkeypatch):
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "poller")
    telemetry.measure(HEARTBEAT, 1)

    (line,) = flushed()

    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]
    assert "service" not in line


def test_values_share_a_line_where_their_dimensions_agree(telemetry, flushed):
    telemetry.measure(CLAIMED, 1, job_type="a")
    telemetry.measure(CLAIMED, 1, job_type="a")
    telemetry.measure(PROCESSING, 0.5, job_type="a")
    telemetry.measure(CLAIMED, 1, job_type="b")
    telemetry.measure(COMPLETED, 1, job_type="a", status="success")

    lines = flushed()

    assert [(line["job_type"], line.get("status"), line.get(CLAIMED.name)) for line in lines] == [
        ("a", "success", [1.0, 1.0]),
        ("b", None, [1.0]),
    ]
    assert (lines[0][PROCESSING.name], lines[0][COMPLETED.name]) == ([0.5], [1.0])
    dimensions = [each["Dimensions"] for each in lines[0]["_aws"]["CloudWatchMetrics"]]
    assert dimensions == [[["job_type"]], [["job_type", "status"]]]


@pytest.mark.parametrize("count", [99, 100, 101, 250])
def test_no_value_is_lost_however_many_there_are(count, telemetry, flushed):
    for _ in range(count):
        telemetry.measure(CLAIMED, 1, job_type="a")

    lines = flushed()

    assert sum(sum(line[CLAIMED.name]) for line in lines) == count
    assert {line["job_type"] for line in lines} == {"a"}
    assert all(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["job_type"]] for line in lines)


def test_a_flush_writes_everything_once(telemetry, flushed):
    telemetry.measure(HEARTBEAT, 1)

    assert len(flushed()) == 1
    assert flushed() == []


@pytest.mark.parametrize("dimensions", [{}, {"status": "x"}, {"job_type": "a", "status": "x"}])
def test_dimensions_that_were_not_declared_are_a_mistake(dimensions, telemetry):
    with pytest.raises(TypeError, match=r"metric job_queue_depth has dimensions \('job_type',\), not"):
        telemetry.measure(QUEUE_DEPTH, 1, **dimensions)


def test_every_metric_has_a_name_of_its_own_and_says_its_unit():
    names = [metric.name for metric in METRICS]

    assert len(set(names)) == len(names)
    assert OLDEST_DUE_AGE.name.endswith(str(OLDEST_DUE_AGE.unit).lower())
    assert {str(metric.unit) for metric in METRICS if "seconds" in metric.name} == {"Seconds"}


def test_a_plain_job_s_end_is_told_in_few_bytes(capsys):
    """Every byte is paid for every job: 1,155 bytes in four lines before, of the same job."""
    stream = io.StringIO()
    telemetry = PowertoolsTelemetry("handler-bytes", namespace="Leasehold/prod", stream=stream)
    told = {
        "job_id": "01a1ebd9-401a-8000-91d7-884198a5a8ee",
        "job_type": "daily_summary",
        "worker_id": "poller-1a2b3c4d-5e6f7a8b",
        "attempt": 1,
    }
    telemetry.event(Event.JOB_STARTED, **told)
    telemetry.measure(LATENESS, 0.351234, job_type="daily_summary")
    telemetry.event(Event.JOB_COMPLETED, **told, duration_ms=123)
    telemetry.measure(PROCESSING, 0.123456, job_type="daily_summary")
    telemetry.measure(COMPLETED, 1, job_type="daily_summary", status="success")

    telemetry.flush()

    assert len(stream.getvalue()) <= 800
    assert capsys.readouterr().out == ""


def test_a_plain_job_leaves_at_most_900_bytes_in_the_logs_of_poller_and_handler():
    """Its own poll, woken for it alone, and its run: what both write with the default settings."""
    test, stream = LeaseholdTest({"daily_summary": Summary}), io.StringIO()
    handovers: list[Handover] = []
    test.queue.enqueue("daily_summary", {"region": "eu"})
    lanes = [lane for level in lanes_by_priority(1) for lane in level]
    due = [each for lane in lanes for each in test.services.store.jobs.due(lane, test.clock.now(), limit=2).entries]
    hints = [each for each in due if isinstance(each, DueJob)]

    test.services.telemetry = poller = PowertoolsTelemetry("poller", namespace="Leasehold/production", stream=stream)
    Poller(test.services, Taking(handovers), worker_id="0d1e2f3a").poll(hints=hints)
    poller.flush()
    test.services.telemetry = handler = PowertoolsTelemetry("handler", namespace="Leasehold/production", stream=stream)
    Worker(test.services, {"daily_summary": Summary}, worker_id="4b5c6d7e", limit_time=False).run(handovers[0])
    handler.flush()

    claimed, ended = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (claimed["event"], claimed["claimed"]) == ("poll_finished", 1)
    assert {"job_id", "job_type", "attempt", "worker_id", "duration_ms", "claimed_at", "status"} <= ended.keys()
    assert len(stream.getvalue().encode()) <= 900


class Summary(BaseJobHandler):
    class Payload(BaseModel):
        region: str

    @classmethod
    def payload_model(cls):
        return cls.Payload

    def handle(self, payload):
        return None


class Taking:
    def __init__(self, handovers):
        self._handovers = handovers

    def dispatch(self, handover, function):
        self._handovers.append(handover)
