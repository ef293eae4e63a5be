"""Call `handle_batch`: the payloads of several jobs at once, and an answer for each.

class IndexDocuments(BaseJobHandler):
    def handle_batch(self, payloads, context):
        stored = search.bulk([payload.document for payload in payloads])
        return [None if each.ok else each.error for each in stored]      # an exception fails its own job only
"""

from __future__ import annotations

import inspect
import logging
from functools import partial
from typing import TYPE_CHECKING

from leasehold.runtime.handler import JobContext, handler_of
from leasehold.runtime.signals import Signal
from leasehold.runtime.timing import RESERVE, awaited, limit_of, run_within
from leasehold.telemetry.spans import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from pydantic import BaseModel

    from leasehold.kernel.execute import Attempt, Execution
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Handover
    from leasehold.runtime.handler import BaseJobHandler
    from leasehold.runtime.worker import Worker


class BatchContext:
    """What `handle_batch` may know and do besides its payloads: `jobs[n]` is the context of `payloads[n]`."""

    def __init__(self, jobs: Sequence[JobContext]) -> None:
        self.jobs = tuple(jobs)
        self.job_type = jobs[0].job_type
        self.logger = logging.getLogger(f"leasehold.jobs.{self.job_type}")

    @property
    def deadline(self) -> datetime:
        """When the platform ends this invocation."""
        return self.jobs[0].deadline


def run_batch(handovers: Sequence[Handover], worker: Worker, remaining: timedelta | None) -> dict[JobId, Execution]:
    from leasehold.batches.execute import BatchExecutor

    services, work = worker.services, partial(work_of_batch, worker=worker)
    job_type = services.deployment.settings_of(handovers[0].job_type)
    time_left = remaining or job_type.longest_run
    return BatchExecutor(worker.executor, services, job_type, work, RESERVE, time_left).execute(handovers)


def work_of_batch(attempts: Sequence[Attempt], worker: Worker) -> Sequence[object]:
    """For each attempt what its handler returned or raised: all at once, where it takes batches, or one by one."""
    now, job_type = worker.services.clock.now, attempts[0].job_type

    def run(work: Callable[[timedelta | None], object]) -> object:
        if not worker.limits_time:
            return work(None)
        limit = limit_of(job_type.timeout * len(attempts), attempts[0].deadline - now())
        return run_within(limit, lambda: work(limit))

    def outcome(attempt: Attempt) -> object:
        try:
            return worker.work(attempt, attempt.deadline - now())
        except (Exception, SystemExit) as error:
            return error  # the next job of the batch is not to suffer for it

    handler = worker.handlers.get(attempts[0].job.job_type)
    if handler is None or not hasattr(handler_of(handler), "handle_batch"):
        return [outcome(attempt) for attempt in attempts]
    traces = [each.job.trace for each in attempts]
    with span("run", attempts[0].job.job_type, links=traces, expected=(Signal,)) as together:
        together.note(count=len(attempts))
        return handle_together(handler_of(handler)(), attempts, run)


def handle_together(
    handler: BaseJobHandler,
    attempts: Sequence[Attempt],
    run: Callable[[Callable[[timedelta | None], object]], object],
) -> list[object]:
    """For each attempt its result, or the exception that is its own. What `handle_batch` itself raises is everybody's.

    `run` limits the time of what it is given, which it tells how long it may take.
    A payload that cannot be read, or does not fit the model, fails its own job, and the handler does not see it.
    """
    outcomes: list[object] = [None] * len(attempts)
    parsed: list[tuple[int, BaseModel]] = []
    for at, attempt in enumerate(attempts):
        try:
            parsed.append((at, handler.parse(attempt.read_payload())))
        except Exception as error:
            outcomes[at] = error
    if not parsed:
        return outcomes
    context = BatchContext([JobContext(attempts[at]) for at, _ in parsed])
    payloads = [payload for _, payload in parsed]
    try:
        answers = _checked(run(lambda limit: call_batch(handler, payloads, context, limit)), len(parsed))
    except (Exception, SystemExit) as error:
        answers = [error] * len(parsed)
    for (at, _), answer in zip(parsed, answers, strict=True):
        outcomes[at] = answer
    return outcomes


def handle_one(handler: BaseJobHandler, payload: BaseModel, context: JobContext, limit: timedelta | None) -> object:
    """A job by itself, for a handler that takes batches."""
    (answer,) = _checked(call_batch(handler, [payload], BatchContext([context]), limit), 1)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def call_batch(
    handler: BaseJobHandler, payloads: Sequence[BaseModel], context: BatchContext, limit: timedelta | None
) -> object:
    answers = handler.handle_batch(payloads, context)  # type: ignore[attr-defined]
    return awaited(answers, limit) if inspect.iscoroutine(answers) else answers


def _checked(answers: object, count: int) -> list[object]:
    if answers is None:
        return [None] * count
    if not isinstance(answers, list | tuple) or len(answers) != count:
        raise TypeError(
            f"handle_batch got {count} payloads and returned {_shape(answers)}: return a list with, for each payload "
            "in order, its result or the exception that it failed with; or None if all went well without a result"
        )
    return list(answers)


def _shape(answers: object) -> str:
    return f"{len(answers)} answers" if isinstance(answers, list | tuple) else f"a {type(answers).__name__}"
