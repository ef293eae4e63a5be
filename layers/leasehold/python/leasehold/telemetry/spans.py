"""The trace that a job is part of, and spans of the OpenTelemetry API for enqueue, poll, hand-over and run.

Spans are made where a program has set up an SDK. The API is never imported here first: an SDK has imported it before,
so whoever has none pays one look into a dictionary. A job carries its producer's span as a W3C traceparent, which
becomes the parent of its run; a batch, which has many producers, is linked to each. Names and attributes are those of
the messaging conventions. Nothing of a payload, and no message of an error, goes into a span.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span as ApiSpan
    from opentelemetry.trace import SpanContext

API = "opentelemetry.trace"
# Where nobody makes spans: `with span("poll") if API in sys.modules else UNTRACED as polling`.
UNTRACED = nullcontext(None)
_SYSTEM = "leasehold"
# Kind of span and type of operation, by the conventions; they have no type for what lies between receive and process.
_OPERATIONS = {
    "enqueue": ("PRODUCER", "send"),
    "create": ("PRODUCER", "create"),
    "poll": ("CLIENT", "receive"),
    "hand_over": ("CLIENT", None),
    "run": ("CONSUMER", "process"),
}
given: ContextVar[str | None] = ContextVar("leasehold_trace", default=None)


def current_trace() -> str | None:
    """The traceparent of the span that is open here, or what `trace_context` was given."""
    return (_traceparent() if API in sys.modules else None) or given.get()


@contextmanager
def trace_context(trace: str | None) -> Iterator[None]:
    """Jobs enqueued inside carry this context, e.g. a W3C traceparent; handlers run inside the context of their job.

    >>> with trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
    ...     current_trace()[:7]
    '00-4bf9'
    """
    token = given.set(trace)
    try:
        if trace is None or API not in sys.modules:
            yield
            return
        from opentelemetry import context

        attached = context.attach(_context_of(trace))
        try:
            yield
        finally:
            context.detach(attached)
    finally:
        given.reset(token)


class Span:
    """`trace` is what a job carries that is sent inside; None where nobody makes spans."""

    def __init__(self, span: ApiSpan | None = None, trace: str | None = None) -> None:
        self._span = span
        self.trace = trace

    def note(self, *, job_id: str | None = None, count: int | None = None) -> None:
        if self._span is not None and job_id is not None:
            self._span.set_attribute("messaging.message.id", job_id)
        if self._span is not None and count is not None:
            self._span.set_attribute("messaging.batch.message_count", count)


_NONE = Span()


@contextmanager
def span(
    operation: str,
    job_type: str | None = None,
    *,
    parent: str | None = None,
    links: Iterable[str | None] = (),
    expected: tuple[type[BaseException], ...] = (),
) -> Iterator[Span]:
    """An operation, e.g. `run send_invoice`, below `parent` or whatever is open here; `expected` are no errors."""
    if API not in sys.modules:
        yield _NONE
        return
    from opentelemetry import trace

    kind, _ = _OPERATIONS[operation]
    with trace.get_tracer(_SYSTEM).start_as_current_span(
        operation if job_type is None else f"{operation} {job_type}",
        context=None if parent is None else _context_of(parent),
        kind=trace.SpanKind[kind],
        attributes=_attributes(operation, job_type),
        links=[trace.Link(found) for link in links if (found := _span_of(link)).is_valid],
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            # A trace that is no traceparent is its caller's own: the job keeps it.
            keeps_its_own = parent is not None and not _span_of(parent).is_valid
            yield Span(made, None if keeps_its_own else _traceparent())
        except expected:
            raise
        except BaseException as error:
            made.set_attribute("error.type", type(error).__qualname__)
            made.set_status(trace.Status(trace.StatusCode.ERROR))
            raise


def flush() -> None:
    """Send what ended: a function that answered is frozen, and may never be thawed."""
    if API not in sys.modules:
        return
    from opentelemetry import trace

    # Not of the API: only an SDK's provider has something to send.
    send = getattr(trace.get_tracer_provider(), "force_flush", None)
    if send is not None:
        send(_FLUSH_MILLISECONDS)


_FLUSH_MILLISECONDS = 1000


def _attributes(operation: str, job_type: str | None) -> Mapping[str, str]:
    known = {"operation.name": operation, "operation.type": _OPERATIONS[operation][1], "destination.name": job_type}
    named = {f"messaging.{name}": value for name, value in known.items() if value is not None}
    return {"messaging.system": _SYSTEM, **named}


def _context_of(traceparent: str) -> Context:
    """The context that is open here, below this remote span; a text that is no traceparent changes nothing."""
    from opentelemetry import context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent}, context.get_current())


def _span_of(traceparent: str | None) -> SpanContext:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    found = TraceContextTextMapPropagator().extract({} if traceparent is None else {"traceparent": traceparent})
    return trace.get_current_span(found).get_span_context()


def _traceparent() -> str | None:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")
