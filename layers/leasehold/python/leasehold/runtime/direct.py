"""Direct runs in the handler's process: the same handler and payload model, an answer instead of an ended job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.direct_runs.model import DirectAnswer
from leasehold.kernel.job import MAX_ERROR_BYTES
from leasehold.kernel.job_type import START_AND_RESERVE
from leasehold.kernel.keys import to_text
from leasehold.kernel.payload import decode, encode_result, shortened
from leasehold.kernel.table import request_token
from leasehold.runtime.handler import JobContext
from leasehold.runtime.notes import check_artifact, logger_of
from leasehold.runtime.signals import Cancel, Skip, Snooze, failure_of
from leasehold.telemetry import Event
from leasehold.telemetry.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from leasehold.direct_runs.model import DirectRun
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import ForeignItem
    from leasehold.runtime.worker import Worker


def run_directly(run: DirectRun, worker: Worker, *, remaining: timedelta | None = None) -> DirectAnswer:
    """Run the handler, unless jobs of its type could run beside it: then its caller gave up long ago, or died."""
    services = worker.services
    timeout, now = services.deployment.settings_of(run.job_type).timeout, services.clock.now()
    # The rest of a function's time is that of its batches.
    time_left = min(remaining, timeout + START_AND_RESERVE) if remaining else timeout
    if now + time_left > run.until:
        return DirectAnswer(
            error=f"the call came so late that it might not have ended by {to_text(run.until)}; nothing ran",
            error_code="too_late",
        )

    def work(context: JobContext) -> object:
        return worker.handle(decode(run.payload_text), context, timeout, remaining)

    context = DirectContext(run, services, started_at=now, deadline=now + time_left)
    services.telemetry.event(Event.DIRECT_RUN_STARTED, run_id=run.run_id, job_type=run.job_type, trace=run.trace)
    answer = _answer(context, work)
    services.telemetry.event(
        Event.DIRECT_RUN_ENDED,
        run_id=run.run_id,
        job_type=run.job_type,
        trace=run.trace,
        duration_ms=round((services.clock.now() - now).total_seconds() * 1000),
        error=None if answer.error is None else redacted(answer.error, decode(run.payload_text))[-1000:],
        error_code=answer.error_code,
    )
    return answer


def _answer(context: DirectContext, work: Callable[[JobContext], object]) -> DirectAnswer:
    try:
        result = work(context)
        result_text = None if result is None else encode_result(result)
    except (Exception, SystemExit) as error:
        if not context.completions:
            return _raised(error)
        result_text = None
    # As with a job: who completed by transact_complete has said it all.
    return DirectAnswer(result_text=context.completions[-1] if context.completions else result_text)


def _raised(error: BaseException) -> DirectAnswer:
    match error:
        case Skip():
            return DirectAnswer()
        case Snooze(delay=delay):
            text = f"the handler asked to be run again after {delay.total_seconds():g} s; a direct run is not repeated"
            return DirectAnswer(error=text, error_code="snoozed")
        case Cancel(reason=reason):
            return DirectAnswer(
                error=shortened(f"the handler cancelled the run: {reason}", MAX_ERROR_BYTES), error_code="cancelled"
            )
        case _:
            failure = failure_of(error)
            return DirectAnswer(error=shortened(failure.error, MAX_ERROR_BYTES), error_code=failure.code)


class DirectContext(JobContext):
    """A JobContext in whose place a direct run stands: its id is the run's, which no job has."""

    def __init__(self, run: DirectRun, services: Services, *, started_at: datetime, deadline: datetime) -> None:
        self._services = services
        self._artifacts = 0
        self.job_id = self.idempotency_key = run.run_id
        self.job_type = run.job_type
        self.attempt = 1
        self.trace = run.trace
        self.started_at = started_at
        self.deadline = deadline
        # What the handler completed with by itself, before it returned.
        self.completions: list[str | None] = []
        self.logger = logger_of(run.job_type, run_id=run.run_id, attempt=1, trace=run.trace)

    @property
    def cancel_requested(self) -> bool:
        """Nobody can ask for it: there is no job to cancel."""
        return False

    def extend(self) -> datetime:
        """There is no lease to prolong: the run may go on to its deadline as it is."""
        return self.deadline

    def add_artifact(self, location: str) -> None:
        """Checked as in a job's run, and kept nowhere."""
        check_artifact(location, self._artifacts)
        self._artifacts += 1

    def transact_complete(self, items: Sequence[ForeignItem], result: Json = None) -> None:
        """Make your own DynamoDB writes, all or none; the result is the run's."""
        text = None if result is None else encode_result(result)
        token = request_token(self.job_id, "complete", str(len(self.completions)))
        self._services.store.table.transact((), token=token, foreign=items)
        self.completions.append(text)
