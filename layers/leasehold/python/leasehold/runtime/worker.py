"""The handler runtime: from a hand-over to an ended attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.client.tracing import trace_context
from leasehold.domain.errors import NonRetryableError
from leasehold.domain.job_type import START_AND_RESERVE
from leasehold.domain.payload import decode
from leasehold.kernel.execute import Executor
from leasehold.runtime.context import JobContext
from leasehold.runtime.direct import run_directly
from leasehold.runtime.handler import call, handler_of
from leasehold.runtime.heartbeat import heartbeat
from leasehold.runtime.timeout import run_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from leasehold.domain.direct_run import DirectAnswer, DirectRun
    from leasehold.domain.handover import Handover
    from leasehold.domain.ids import JobId
    from leasehold.domain.payload import Json
    from leasehold.engine.parts import Parts
    from leasehold.kernel.attempt import Attempt
    from leasehold.kernel.execute import Execution
    from leasehold.runtime.handler import BaseJobHandler, Handler

# Time kept back before the platform's own timeout, so that the failure can still be written and reported, also by a
# container that has not reported anything yet.
RESERVE = timedelta(seconds=2)
# An alarm of no time at all would be no alarm.
_SHORTEST = timedelta(milliseconds=1)


class Worker:
    """Runs hand-overs with the handlers it knows. One worker may run many at once, one per thread.

    `keep_alive` extends the lease of types with a heartbeat while their handler works.
    """

    def __init__(
        self,
        parts: Parts,
        handlers: Mapping[str, Handler],
        *,
        worker_id: str,
        limit_time: bool = True,
        keep_alive: Callable[[Attempt], AbstractContextManager[object]] = heartbeat,
    ) -> None:
        self._parts = parts
        self._handlers = handlers
        self._limit_time = limit_time
        self._executor = Executor(parts, worker_id=worker_id, keep_alive=keep_alive)

    def run(self, handover: Handover, *, remaining: timedelta | None = None) -> Execution:
        """Run one hand-over; `remaining` is how long the platform lets this invocation live."""
        return self._executor.execute(handover, self._work(remaining), remaining=remaining)

    def run_batch(self, handovers: Sequence[Handover], *, remaining: timedelta | None = None) -> dict[JobId, Execution]:
        """Run several hand-overs of one type; `remaining` is how long the platform lets this invocation live."""
        from leasehold.batches.execute import BatchExecutor

        batch = BatchExecutor(self._executor, self._parts, reserve=RESERVE)
        return batch.execute(handovers, self._work_of_batch, remaining=remaining)

    def run_directly(self, run: DirectRun, *, remaining: timedelta | None = None) -> DirectAnswer:
        """Run a handler for a caller who waits for it, without a job."""
        timeout = self._parts.deployment.settings_of(run.job_type).timeout

        def work(context: JobContext) -> object:
            return self._handle(decode(run.payload_text), context, timeout, remaining)

        # The rest of a function's time is that of its batches.
        longest = timeout + START_AND_RESERVE
        return run_directly(run, work, self._parts, time_left=min(remaining, longest) if remaining else timeout)

    def _work(self, remaining: timedelta | None) -> Callable[[Attempt], object]:
        def work(attempt: Attempt) -> object:
            return self._handle(attempt.read_payload(), JobContext(attempt), attempt.job_type.timeout, remaining)

        return work

    def _work_of_batch(self, attempts: Sequence[Attempt]) -> Sequence[object]:
        def handle(attempt: Attempt) -> object:
            return self._work(attempt.deadline - self._parts.clock.now())(attempt)

        def run(work: Callable[[timedelta | None], object]) -> object:
            if not self._limit_time:
                return work(None)
            timeout = attempts[0].job_type.timeout * len(attempts)
            limit = _limit(timeout, attempts[0].deadline - self._parts.clock.now())
            return run_within(limit, lambda: work(limit))

        handler = self._handlers.get(attempts[0].job.job_type)
        if handler is None or not hasattr(handler_of(handler), "handle_batch"):
            return [_outcome(handle, attempt) for attempt in attempts]
        from leasehold.runtime.batch import handle_together

        return handle_together(handler_of(handler)(), attempts, run)

    def _handle(self, payload: Json, context: JobContext, timeout: timedelta, remaining: timedelta | None) -> object:
        handler = self._handler(context.job_type)
        parsed = handler.parse(payload)
        with trace_context(context.trace):
            if not self._limit_time:
                return call(handler, parsed, context)
            limit = _limit(timeout, remaining)
            return run_within(limit, lambda: call(handler, parsed, context, limit))

    def _handler(self, job_type: str) -> BaseJobHandler:
        if job_type not in self._handlers:
            raise NonRetryableError(
                f"this worker has no handler for {job_type!r}, only for {', '.join(sorted(self._handlers)) or 'none'}"
            )
        return handler_of(self._handlers[job_type])()


def _limit(timeout: timedelta, remaining: timedelta | None) -> timedelta:
    """A handler has its own time, unless the platform leaves less."""
    return timeout if remaining is None else min(timeout, max(remaining - RESERVE, remaining / 2, _SHORTEST))


def _outcome(handle: Callable[[Attempt], object], attempt: Attempt) -> object:
    """What a handler returned, or raised: the next job of the batch is not to suffer for it."""
    try:
        return handle(attempt)
    except (Exception, SystemExit) as error:
        return error
