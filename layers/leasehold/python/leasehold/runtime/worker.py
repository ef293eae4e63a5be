"""The handler runtime: from a hand-over to an ended attempt."""

from __future__ import annotations

import contextvars
import queue
import signal
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel.errors import JobTimeoutError, LeaseholdError, LeaseLostError, NonRetryableError
from leasehold.kernel.execute import Executor
from leasehold.kernel.job_type import START_AND_RESERVE
from leasehold.kernel.payload import decode
from leasehold.kernel.signals import Signal
from leasehold.runtime.direct import run_directly
from leasehold.runtime.handler import JobContext, call, handler_of
from leasehold.telemetry.spans import span, trace_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.execute import Attempt, Execution
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services
    from leasehold.runtime.handler import BaseJobHandler, Handler


# Time kept back before the platform's own timeout, so that the failure can still be written and reported, also by a
# container that has not reported anything yet.
RESERVE = timedelta(seconds=2)
# An alarm of no time at all would be no alarm.
_SHORTEST = timedelta(milliseconds=1)


@contextmanager
def heartbeat(attempt: Attempt) -> Iterator[None]:
    """Extend every third of the lease. A lease that is lost meanwhile is raised when the handler returns."""
    stop = threading.Event()
    lost: list[LeaseLostError] = []
    interval = attempt.job_type.lease_length.total_seconds() / 3

    def beat() -> None:
        while not stop.wait(interval):
            try:
                attempt.extend()
            except LeaseLostError as error:
                lost.append(error)
                return
            except LeaseholdError:
                continue  # the store may answer at the next beat; two more fit into the lease

    thread = threading.Thread(target=beat, name="leasehold-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        # A beat that meets an outage lasts as long as the client tries: it is left behind. What it still writes is an
        # extension of this lease, which does no harm, or is refused once the job has ended.
        thread.join(_LONGEST_WAIT.total_seconds())
    # A handler that completed by itself has no lease left to lose.
    if lost and not attempt.has_ended:
        raise lost[0]


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
        keep_alive: Callable[[Attempt], AbstractContextManager[object]] = heartbeat,
    ) -> None:
        self._services = services
        self._handlers = handlers
        self._limit_time = limit_time
        self._executor = Executor(services, worker_id=worker_id, keep_alive=keep_alive)

    def run(self, handover: Handover, *, remaining: timedelta | None = None) -> Execution:
        """Run one hand-over; `remaining` is how long the platform lets this invocation live."""
        return self._executor.execute(handover, self._work(remaining), remaining=remaining)

    def run_batch(self, handovers: Sequence[Handover], *, remaining: timedelta | None = None) -> dict[JobId, Execution]:
        """Run several hand-overs of one type; `remaining` is how long the platform lets this invocation live."""
        from leasehold.batches.execute import BatchExecutor

        batch = BatchExecutor(self._executor, self._services, reserve=RESERVE)
        return batch.execute(handovers, self._work_of_batch, remaining=remaining)

    def run_directly(self, run: DirectRun, *, remaining: timedelta | None = None) -> DirectAnswer:
        """Run a handler for a caller who waits for it, without a job."""
        timeout = self._services.deployment.settings_of(run.job_type).timeout

        def work(context: JobContext) -> object:
            return self._handle(decode(run.payload_text), context, timeout, remaining)

        # The rest of a function's time is that of its batches.
        longest = timeout + START_AND_RESERVE
        return run_directly(run, work, self._services, time_left=min(remaining, longest) if remaining else timeout)

    def _work(self, remaining: timedelta | None) -> Callable[[Attempt], object]:
        def work(attempt: Attempt) -> object:
            return self._handle(attempt.read_payload(), JobContext(attempt), attempt.job_type.timeout, remaining)

        return work

    def _work_of_batch(self, attempts: Sequence[Attempt]) -> Sequence[object]:
        def handle(attempt: Attempt) -> object:
            return self._work(attempt.deadline - self._services.clock.now())(attempt)

        def run(work: Callable[[timedelta | None], object]) -> object:
            if not self._limit_time:
                return work(None)
            timeout = attempts[0].job_type.timeout * len(attempts)
            limit = _limit(timeout, attempts[0].deadline - self._services.clock.now())
            return run_within(limit, lambda: work(limit))

        handler = self._handlers.get(attempts[0].job.job_type)
        if handler is None or not hasattr(handler_of(handler), "handle_batch"):
            return [_outcome(handle, attempt) for attempt in attempts]
        from leasehold.runtime.batch import handle_together

        job_type, traces = attempts[0].job.job_type, [each.job.trace for each in attempts]
        with span("run", job_type, links=traces, expected=(Signal,)) as together:
            together.note(count=len(attempts))
            return handle_together(handler_of(handler)(), attempts, run)

    def _handle(self, payload: Json, context: JobContext, timeout: timedelta, remaining: timedelta | None) -> object:
        job_type, trace = context.job_type, context.trace
        handler = self._handler(job_type)
        with trace_context(trace), span("run", job_type, parent=trace, expected=(Signal,)) as run:
            run.note(job_id=context.job_id)
            parsed = handler.parse(payload)
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


# A part of the time that is kept back for the job's end.
_LONGEST_WAIT = timedelta(milliseconds=500)


def run_within[T](limit: timedelta, work: Callable[[], T]) -> T:
    """Run `work`; JobTimeoutError if it takes longer than `limit`.

    In a process's main thread, as in Lambda, an alarm interrupts the work where it is. Elsewhere Python cannot
    interrupt a thread: the work is left behind, and whatever it still writes for its job is refused by the fencing.
    """
    seconds = limit.total_seconds()
    if threading.current_thread() is threading.main_thread():
        return _with_alarm(seconds, work)
    return _in_thread(seconds, work)


def _with_alarm[T](seconds: float, work: Callable[[], T]) -> T:
    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise JobTimeoutError(seconds)

    before = signal.signal(signal.SIGALRM, expire)
    pending = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        # Somebody else's alarm, e.g. a test runner's, goes on; it comes later by as long as the work took.
        signal.setitimer(signal.ITIMER_REAL, *pending)


def _in_thread[T](seconds: float, work: Callable[[], T]) -> T:
    answer: queue.SimpleQueue[tuple[bool, T | BaseException]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer.put((True, context.run(work)))
        except BaseException as error:
            answer.put((False, error))

    threading.Thread(target=run, name="leasehold-handler", daemon=True).start()
    try:
        succeeded, outcome = answer.get(timeout=seconds)
    except queue.Empty:
        raise JobTimeoutError(seconds) from None
    if not succeeded:
        raise cast("BaseException", outcome)
    return cast("T", outcome)
