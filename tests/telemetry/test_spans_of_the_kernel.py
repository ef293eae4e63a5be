"""What the spans of enqueue, poll and hand-over say of their jobs; in this process, unlike other tests of spans."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, NewJob
from leasehold.batches.model import Batch
from leasehold.kernel.enqueue import request_of
from leasehold.telemetry.spans import API, trace_context
from tests.stories.story import BatchDispatches, Story

if TYPE_CHECKING:
    from collections.abc import Iterator

ID, COUNT = "messaging.message.id", "messaging.batch.message_count"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An SDK for this test, set up for nobody else: a process takes but one. Who had not heard of it, has not after."""
    was_known = API in sys.modules
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    # All of it: a package that stays would hand out its old module without importing it again.
    for name in [] if was_known else [each for each in sys.modules if each.partition(".")[0] == "opentelemetry"]:
        del sys.modules[name]


def named(spans: Any, name: str) -> list[dict[str, Any]]:
    found = [each for each in spans.get_finished_spans() if each.name == name]
    return [{key: each.attributes[key] for key in (ID, COUNT) if key in each.attributes} for each in found]


def test_one_job_is_named_by_its_producer_and_its_hand_over_and_counted_by_its_poll(spans: Any) -> None:
    s = Story("one")
    job_id = s.enqueue("a")
    s.poll()
    s.poll()

    assert named(spans, "enqueue report") == [{ID: job_id}]
    assert named(spans, "hand_over report") == [{ID: job_id}]
    assert named(spans, "poll") == [{COUNT: 1}, {COUNT: 0}]


def test_what_is_asked_for_inside_of_a_span_carries_it_and_goes_before_a_trace_that_was_given(spans: Any) -> None:
    from opentelemetry import trace

    with trace_context("mine"):
        assert request_of(NewJob(job="report")).trace == "mine"
        with trace.get_tracer("program").start_as_current_span("request"):
            assert request_of(NewJob(job="report", trace="order 7")).trace == "order 7"
            carried = request_of(NewJob(job="report")).trace
    (request,) = [each for each in spans.get_finished_spans() if each.name == "request"]
    assert f"{request.context.trace_id:032x}-{request.context.span_id:016x}" in (carried or "")


def test_jobs_that_are_handed_over_together_are_counted_and_not_named(spans: Any) -> None:
    s = Story("two")
    s.dispatches = BatchDispatches(s.recording)
    s.deploy(JobType(name="together", batch=Batch(size=2)))
    s.enqueue("a", "together")
    s.enqueue("b", "together")
    s.poll()

    assert named(spans, "hand_over together") == [{COUNT: 2}]
