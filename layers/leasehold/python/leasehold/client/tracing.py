"""The trace context: set where work begins, stored on the job, back in the handler's logs."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_current: ContextVar[str | None] = ContextVar("leasehold_trace", default=None)


def current_trace() -> str | None:
    return _current.get()


@contextmanager
def trace_context(trace: str | None) -> Iterator[None]:
    """Jobs enqueued inside carry this context, e.g. a W3C traceparent; handlers run inside the context of their job.

    >>> with trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
    ...     current_trace()[:7]
    '00-4bf9'
    """
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)
