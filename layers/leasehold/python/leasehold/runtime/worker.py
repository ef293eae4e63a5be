"""The handler runtime: from a hand-over to an ended attempt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leasehold.kernel.errors import NonRetryableError
from leasehold.kernel.execute import Executor
from leasehold.runtime.handler import JobContext, call, handler_of
from leasehold.runtime.lease import heartbeat
from leasehold.runtime.signals import Signal
from leasehold.runtime.timing import limit_of, run_within
from leasehold.telemetry.spans import API, given, span, trace_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.execute import Attempt, Execution, KeepAlive
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services
    from leasehold.runtime.handler import Handler


class Worker:
    """Runs hand-overs with the handlers it knows. One worker may run many at once, one per thread.

    `keep_alive` extends the lease of types with a heartbeat while their handler works.
    """

    def __init__(
        self,
        services: Services,
        handlers: Mapping[str, Handler],
        *,
        worker_id: str,
        limit_time: bool = True,
        keep_alive: KeepAlive = heartbeat,
    ) -> None:
        self.services = services
        self.handlers = handlers
        self.limits_time = limit_time
        self.executor = Executor(services, worker_id=worker_id, keep_alive=keep_alive)

    def run(self, handover: Handover, *, remaining: timedelta | None = None) -> Execution:
        """Run one hand-over; `remaining` is how long the platform lets this invocation live."""
        return self.executor.execute(handover, lambda attempt: self.work(attempt, remaining), remaining=remaining)

    def run_batch(self, handovers: Sequence[Handover], *, remaining: timedelta | None = None) -> dict[JobId, Execution]:
        """Run several hand-overs of one type; `remaining` is how long the platform lets this invocation live."""
        from leasehold.runtime.batch import run_batch

        return run_batch(handovers, self, remaining)

    def run_directly(self, run: DirectRun, *, remaining: timedelta | None = None) -> DirectAnswer:
        """Run a handler for a caller who waits for it, without a job."""
        from leasehold.runtime.direct import run_directly

        return run_directly(run, self, remaining=remaining)

    def work(self, attempt: Attempt, remaining: timedelta | None) -> object:
        return self.handle(attempt.read_payload(), JobContext(attempt), attempt.job_type.timeout, remaining)

    def handle(self, payload: Json, context: JobContext, timeout: timedelta, remaining: timedelta | None) -> object:
        job_type, trace = context.job_type, context.trace
        if job_type not in self.handlers:
            known = ", ".join(sorted(self.handlers)) or "none"
            raise NonRetryableError(f"this worker has no handler for {job_type!r}, only for {known}")
        handler = handler_of(self.handlers[job_type])()

        def work() -> object:
            parsed = handler.parse(payload)
            if not self.limits_time:
                return call(handler, parsed, context)
            limit = limit_of(timeout, remaining)
            return run_within(limit, lambda: call(handler, parsed, context, limit))

        if trace is None and given.get() is None and API not in sys.modules:
            return work()
        with trace_context(trace), span("run", job_type, parent=trace, expected=(Signal,)) as run:
            run.note(job_id=context.job_id)
            return work()
