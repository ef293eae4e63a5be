"""The handler runtime: from a hand-over to an ended attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.client.tracing import trace_context
from leasehold.domain.errors import NonRetryableError
from leasehold.engine.execute import Executor
from leasehold.runtime.context import JobContext
from leasehold.runtime.handler import BaseJobHandler, call
from leasehold.runtime.heartbeat import heartbeat
from leasehold.runtime.timeout import run_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.domain.handover import Handover
    from leasehold.engine.attempt import Attempt
    from leasehold.engine.execute import Execution
    from leasehold.engine.parts import Parts

# Time kept back before the platform's own timeout, so that the failure can still be written and reported, also by a
# container that has not reported anything yet.
RESERVE = timedelta(seconds=2)
# An alarm of no time at all would be no alarm.
_SHORTEST = timedelta(milliseconds=1)


class Worker:
    """Runs hand-overs with the handlers it knows. One worker may run many at once, one per thread."""

    def __init__(
        self,
        parts: Parts,
        handlers: Mapping[str, type[BaseJobHandler]],
        *,
        worker_id: str,
        limit_time: bool = True,
    ) -> None:
        self._handlers = handlers
        self._limit_time = limit_time
        self._executor = Executor(parts, worker_id=worker_id, keep_alive=heartbeat)

    def run(self, handover: Handover, *, remaining: timedelta | None = None) -> Execution:
        """Run one hand-over; `remaining` is how long the platform lets this invocation live."""
        return self._executor.execute(handover, self._work(remaining), remaining=remaining)

    def _work(self, remaining: timedelta | None) -> Callable[[Attempt], object]:
        def work(attempt: Attempt) -> object:
            handler = self._handler(attempt.job.job_type)
            payload = handler.parse(attempt.job.payload)
            context = JobContext(attempt)
            with trace_context(attempt.job.trace):
                if not self._limit_time:
                    return call(handler, payload, context)
                limit = attempt.job_type.timeout
                if remaining is not None:
                    limit = min(limit, max(remaining - RESERVE, remaining / 2, _SHORTEST))
                return run_within(limit, lambda: call(handler, payload, context))

        return work

    def _handler(self, job_type: str) -> BaseJobHandler:
        if job_type not in self._handlers:
            raise NonRetryableError(
                f"this worker has no handler for {job_type!r}, only for {', '.join(sorted(self._handlers)) or 'none'}"
            )
        return self._handlers[job_type]()
