"""Run now: call a type's handler and wait for its result, without a job, while no job of the type runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.direct_run import DirectRun
from leasehold.domain.errors import DirectRunError, DispatchError, InvalidOptionError, JobTypePausedError
from leasehold.domain.instants import to_text
from leasehold.domain.job_type import parse_users_job_type
from leasehold.domain.payload import decode
from leasehold.engine.next_slot import NOTICED_AFTER, NextSlot

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.domain.direct_run import DirectAnswer
    from leasehold.domain.job_type import JobType
    from leasehold.domain.payload import Json
    from leasehold.engine.parts import Parts

# The type's jobs wait as long as this waits, and after a crash for the rest of it.
LONGEST_WAIT = timedelta(hours=1)


def run_now(
    job_type: object,
    payload_text: str,
    parts: Parts,
    *,
    timeout: timedelta,
    trace: str | None = None,
    run_id: str | None = None,
    on_turn: Callable[[], None] = lambda: None,
) -> Json:
    """Reserve the type's next slot, wait until nothing of it runs, call the handler, and give the slot back.

    on_turn: called when the waiting is over, right before the handler is called.
    """
    deployed = checked_type(job_type, parts, timeout=timeout)
    run_id = run_id or make_run_id(parts)
    slot = NextSlot(deployed, run_id, parts, timeout=timeout)
    try:
        slot.reserve()
        slot.clear()
        _refuse_if_stopped(deployed.name, parts)
        on_turn()
    except BaseException:
        slot.give_back()
        raise
    run = DirectRun(run_id=run_id, job_type=deployed.name, payload_text=payload_text, until=slot.until, trace=trace)
    answer = _call(run, deployed, slot, parts)
    if answer.error is not None:
        raise DirectRunError(deployed.name, run_id, answer.error, answer.error_code or "unknown")
    return None if answer.result_text is None else decode(answer.result_text)


def make_run_id(parts: Parts) -> str:
    return f"direct-{parts.chance.bits(64):016x}"


def checked_type(job_type: object, parts: Parts, *, timeout: timedelta) -> JobType:
    """The type, if a direct run of it could begin now."""
    deployed = parts.deployment.registry(fresh=True).job_type(parse_users_job_type(job_type))
    _check_timeout(timeout, deployed)
    _refuse_if_stopped(deployed.name, parts)
    return deployed


def _call(run: DirectRun, job_type: JobType, slot: NextSlot, parts: Parts) -> DirectAnswer:
    try:
        answer = parts.caller.call(run, job_type)
    except DispatchError:
        slot.give_back()
        raise
    # After any other error the handler may be running: then everything stays reserved until it cannot be any more.
    slot.give_back()
    return answer


def _check_timeout(timeout: object, job_type: JobType) -> None:
    if not isinstance(timeout, timedelta) or not timedelta(0) <= timeout <= LONGEST_WAIT:
        raise InvalidOptionError(
            timeout,
            f"a direct run waits for its turn for nothing to {LONGEST_WAIT.total_seconds():g} s",
            "Pass a timedelta, e.g. timeout=timedelta(minutes=1).",
        )
    if job_type.concurrency is None and timeout <= NOTICED_AFTER:
        raise InvalidOptionError(
            timeout,
            f"{job_type.name} has no concurrency limit, so its turn comes after {NOTICED_AFTER.total_seconds():g} s "
            "at the earliest, when every poller and handler knows of it",
            "Pass a longer timeout, or give the type a limit in its job.toml.",
        )


def _refuse_if_stopped(job_type: str, parts: Parts) -> None:
    pause = parts.deployment.switches(fresh=True).pauses.get(job_type)
    parts.deployment.refuse_if_halted()
    if pause is not None:
        raise JobTypePausedError(job_type, pause.by, to_text(pause.at), pause.reason)
