"""Spans, as an OTLP collector receives them from a program that set up OpenTelemetry; and what others pay: nothing.

The programs are processes of their own: whether OpenTelemetry is set up holds for a whole process, and for good.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.otlp_collector import Collector, collector

_ROOT = Path(__file__).parents[2]
_SET_UP = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint={endpoint!r})))
trace.set_tracer_provider(provider)
"""
_QUEUE = """
import json, sys
from leasehold import JobType, NewJob, Snooze, current_trace, trace_context
from leasehold.batches.model import Batch
from leasehold.telemetry.spans import flush
from leasehold.runtime.handler import BaseJobHandler
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that
test = LeaseholdTest(types=[JobType(name="child")])
"""
_A_CHAIN = """
test.register("parent", handler_that(lambda _context: test.queue.enqueue("child").job_id))
test.register("child", handler_that(lambda _context: None))
job_id = test.queue.enqueue("parent").job_id
test.drain()
(child,) = test.jobs("child")
answer = {"parent": job_id, "child": child.job_id, "trace": test.queue.get(job_id).trace}
"""
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def chain() -> tuple[Collector, dict[str, Any]]:
    return _run(_A_CHAIN)


def test_a_producer_its_job_and_the_job_that_this_enqueues_are_one_trace(chain):
    received, answer = chain
    (sent,), (ran,) = received.named("enqueue parent"), received.named("run parent")
    (sent_on,), (ran_last,) = received.named("enqueue child"), received.named("run child")

    assert [sent.parent_id, ran.parent_id, sent_on.parent_id, ran_last.parent_id] == [
        "",
        sent.span_id,
        ran.span_id,
        sent_on.span_id,
    ]
    assert {span.trace_id for span in (sent, ran, sent_on, ran_last)} == {sent.trace_id}
    assert answer["trace"].startswith(f"00-{sent.trace_id}-{sent.span_id}-")


def test_hand_overs_are_part_of_their_poll(chain):
    received, _ = chain
    polls = {span.span_id for span in received.named("poll")}

    (handed,) = received.named("hand_over parent")
    assert handed.parent_id in polls
    assert handed.kind == "client"


def test_names_and_attributes_are_those_of_the_messaging_conventions(chain):
    received, answer = chain
    (sent,), (ran,) = received.named("enqueue parent"), received.named("run parent")

    assert (sent.kind, ran.kind) == ("producer", "consumer")
    assert sent.attributes == {
        "messaging.system": "leasehold",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": "parent",
        "messaging.message.id": answer["parent"],
    }
    assert ran.attributes["messaging.operation.type"] == "process"
    assert ran.attributes["messaging.message.id"] == answer["parent"]
    assert {span.attributes["messaging.operation.type"] for span in received.named("poll")} == {"receive"}


def test_a_batch_is_linked_to_the_producer_of_each_of_its_jobs():
    received, _ = _run("""
class Together(BaseJobHandler):
    def parse(self, payload): return payload
    def handle_batch(self, payloads, context): return None
test.register("together", Together, JobType(name="together", batch=Batch(size=3)))
for _ in range(3):
    test.queue.enqueue("together")
test.drain(until_idle=True)
answer = {}
""")

    (ran,) = received.named("run together")
    assert sorted(ran.links) == sorted(span.span_id for span in received.named("enqueue together"))
    assert (len(ran.links), ran.attributes["messaging.batch.message_count"]) == (3, 3)


def test_jobs_of_one_call_are_sent_by_one_span_and_a_trace_of_their_own_stays():
    received, answer = _run(f"""
test.queue.enqueue_many([NewJob(job="child"), NewJob(job="child", trace={TRACE!r}), NewJob(job="child", trace="mine")])
answer = {{"traces": [job.trace for job in test.jobs("child")]}}
""")

    (sent,) = received.named("enqueue")
    assert sent.attributes["messaging.batch.message_count"] == 3
    (carried,) = set(answer["traces"]) - {TRACE, "mine"}
    assert carried.startswith(f"00-{sent.trace_id}-{sent.span_id}-")
    assert len(answer["traces"]) == 3


def test_a_run_that_fails_names_the_error_and_not_what_it_says_and_a_snooze_is_none():
    received, _ = _run("""
def fail(_context): raise ValueError("the secret payload")
def later(_context): raise Snooze(60)
test.register("fails", handler_that(fail))
test.register("later", handler_that(later))
test.queue.enqueue("fails")
test.queue.enqueue("later")
test.drain()
answer = {}
""")

    (failed,), (snoozed,) = received.named("run fails"), received.named("run later")
    assert failed.is_error
    assert failed.attributes["error.type"] == "ValueError"
    assert not snoozed.is_error
    assert all("secret" not in span.text for span in received.spans)


def test_a_trace_that_is_no_traceparent_is_kept_as_it_is():
    received, answer = _run("""
with trace_context("mine"):
    inside = test.queue.enqueue("child").job_id
given = test.queue.enqueue("child", trace="order 7").job_id
answer = {"traces": [test.queue.get(inside).trace, test.queue.get(given).trace]}
""")

    assert answer["traces"] == ["mine", "order 7"]
    assert len(received.named("enqueue child")) == 2


def test_who_has_no_sdk_imports_nothing_of_opentelemetry():
    answer = _answer(
        _QUEUE + _A_CHAIN + "\nanswer = [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )

    assert answer == []


def test_the_api_without_an_sdk_carries_traces_and_makes_none():
    answer = _answer(f"""
import opentelemetry.trace
{_QUEUE}
test.register("child", handler_that(lambda _context: current_trace()))
test.queue.enqueue("child")
test.queue.enqueue("child", trace={TRACE!r})
test.drain()
answer = [[job.trace, job.result] for job in test.jobs("child")]
""")

    assert sorted(answer, key=str) == sorted([[None, None], [TRACE, TRACE]], key=str)


def _run(program: str) -> tuple[Collector, dict[str, Any]]:
    with collector() as received:
        # Flushed as a function does at its end: what a batch processor holds back reaches the collector.
        answer = _answer(_SET_UP.format(endpoint=received.endpoint) + _QUEUE + program + "\nflush()\n")
    return received, answer


def _answer(program: str) -> Any:
    whole = program + "\nprint(json.dumps(answer))\n"
    command = [sys.executable, "-c", whole]
    ran = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
