"""Direct runs in the handler's process: the same handler and payload model, an answer instead of an ended job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.direct_run import DirectAnswer
from leasehold.domain.instants import to_text
from leasehold.domain.payload import decode, encode_result
from leasehold.domain.redaction import redacted
from leasehold.domain.run import MAX_ERROR_BYTES
from leasehold.domain.signals import Cancel, Skip, Snooze
from leasehold.domain.text import shortened
from leasehold.engine.telemetry import Event
from leasehold.kernel.execute import failure_of
from leasehold.runtime.direct_context import DirectContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leasehold.domain.direct_run import DirectRun
    from leasehold.engine.parts import Parts
    from leasehold.runtime.context import JobContext


def run_directly(
    run: DirectRun, work: Callable[[JobContext], object], parts: Parts, *, time_left: timedelta
) -> DirectAnswer:
    """Run the handler, unless jobs of its type could run beside it: then its caller gave up long ago, or died."""
    now = parts.clock.now()
    if now + time_left > run.until:
        return DirectAnswer(
            error=f"the call came so late that it might not have ended by {to_text(run.until)}; nothing ran",
            error_code="too_late",
        )
    context = DirectContext(run, parts, started_at=now, deadline=now + time_left)
    parts.telemetry.event(Event.DIRECT_RUN_STARTED, run_id=run.run_id, job_type=run.job_type, trace=run.trace)
    answer = _answer(context, work)
    parts.telemetry.event(
        Event.DIRECT_RUN_ENDED,
        run_id=run.run_id,
        job_type=run.job_type,
        trace=run.trace,
        duration_ms=round((parts.clock.now() - now).total_seconds() * 1000),
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
