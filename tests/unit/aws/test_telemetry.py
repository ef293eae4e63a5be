"""Logs are JSON lines, metrics are CloudWatch's embedded format, with exactly the declared dimensions."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.engine.telemetry import (
    CLAIMED,
    COMPLETED,
    HEARTBEAT,
    METRICS,
    NAMESPACE,
    OLDEST_DUE_AGE,
    PROCESSING,
    QUEUE_DEPTH,
    Event,
    Metric,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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
    return PowertoolsTelemetry(request.node.name, stream=io.StringIO())


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
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def sample(metric: Metric) -> dict[str, str]:
    return {name: f"a_{name}" for name in metric.dimensions}


@pytest.mark.parametrize("event", Event)
def test_an_event_is_one_json_line_with_its_fields_and_level(event):
    fields = {"job_id": "j", "job_type": "t", "attempt": 1, "will_retry": True, "trace": None}

    (line,) = logged(f"events-{event}", (event, fields))

    assert line["event"] == line["message"] == str(event)
    assert (line["job_id"], line["attempt"], line["will_retry"]) == ("j", 1, True)
    assert "trace" not in line
    if event in EXPECTED_LEVELS:
        assert line["level"] == EXPECTED_LEVELS[event]


def test_what_goes_well_is_told_at_the_usual_level():
    quiet = [Event.JOB_ENQUEUED, Event.JOB_CLAIMED, Event.JOB_STARTED, Event.JOB_COMPLETED, Event.POLL_FINISHED]

    assert {line["level"] for line in logged("levels", *((event, {}) for event in quiet))} == {"INFO"}


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


def test_values_of_equal_dimensions_share_a_line_and_others_do_not(telemetry, flushed):
    telemetry.measure(CLAIMED, 1, job_type="a")
    telemetry.measure(CLAIMED, 1, job_type="a")
    telemetry.measure(PROCESSING, 0.5, job_type="a")
    telemetry.measure(CLAIMED, 1, job_type="b")
    telemetry.measure(COMPLETED, 1, job_type="a", status="success")

    lines = flushed()

    assert [(line["job_type"], line.get("status"), line.get(CLAIMED.name)) for line in lines] == [
        ("a", None, [1.0, 1.0]),
        ("b", None, [1.0]),
        ("a", "success", None),
    ]
    assert lines[0][PROCESSING.name] == [0.5]


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
