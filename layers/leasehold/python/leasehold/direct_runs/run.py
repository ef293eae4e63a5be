"""Run now: call a type's handler and wait for its result, without a job, while no job of the type runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from leasehold.audit.records import audit_entry_by_actor, retried
from leasehold.direct_runs.model import (
    COLD_START,
    DirectRequest,
    DirectRun,
    DirectRunError,
    DirectState,
    JobTypePausedError,
    RequestKeyReusedError,
    over_by,
)
from leasehold.direct_runs.next_slot import NOTICED_AFTER, NextSlot
from leasehold.direct_runs.records import acceptance
from leasehold.kernel.errors import DispatchError, InvalidOptionError, JobNotFoundError, LeaseholdError
from leasehold.kernel.job import MAX_ERROR_BYTES
from leasehold.kernel.job_type import parse_users_job_type
from leasehold.kernel.keys import make_nonce, to_text
from leasehold.kernel.payload import decode, encode_result, shortened
from leasehold.kernel.type_options import CLOCK_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.direct_runs.model import DirectAnswer
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services


# The type's jobs wait as long as this waits, and after a crash for the rest of it.
LONGEST_WAIT = timedelta(hours=1)


class Caller(Protocol):
    """Reaches handlers and waits for them, once: what was called twice would run twice."""

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        """Have the run done now; raise DispatchError if it did not begin, DirectRunLostError if that is not known."""


def run_now(
    job_type: object,
    payload_text: str,
    services: Services,
    *,
    timeout: timedelta,
    trace: str | None = None,
    run_id: str | None = None,
    on_turn: Callable[[], None] = lambda: None,
) -> Json:
    """Reserve the type's next slot, wait until nothing of it runs, call the handler, and give the slot back.

    on_turn: called when the waiting is over, right before the handler is called.
    """
    deployed = checked_type(job_type, services, timeout=timeout)
    caller = services.caller
    if caller is None:
        raise DispatchError(
            f"this queue has no way to call the handler of {deployed.name!r}. Open it with Queue.connect, or pass "
            "Services(caller=...)."
        )
    run_id = run_id or make_run_id(services)
    slot = NextSlot(deployed, run_id, services, timeout=timeout)
    try:
        slot.reserve()
        slot.clear()
        _refuse_if_stopped(deployed.name, services)
        on_turn()
    except BaseException:
        slot.give_back()
        raise
    run = DirectRun(run_id=run_id, job_type=deployed.name, payload_text=payload_text, until=slot.until, trace=trace)
    try:
        answer = caller.call(run, deployed)
    except DispatchError:
        slot.give_back()
        raise
    # After any other error the handler may be running: then everything stays reserved until it cannot be any more.
    slot.give_back()
    if answer.error is not None:
        raise DirectRunError(deployed.name, run_id, answer.error, answer.error_code or "unknown")
    return None if answer.result_text is None else decode(answer.result_text)


def make_run_id(services: Services) -> str:
    return f"direct-{services.random_source.bits(64):016x}"


def checked_type(job_type: object, services: Services, *, timeout: timedelta) -> JobType:
    """The type, if a direct run of it could begin now."""
    deployed = services.deployment.registry(fresh=True).job_type(parse_users_job_type(job_type))
    _check_timeout(timeout, deployed)
    _refuse_if_stopped(deployed.name, services)
    return deployed


def _check_timeout(timeout: object, job_type: JobType) -> None:
    if not isinstance(timeout, timedelta) or not timedelta(0) <= timeout <= LONGEST_WAIT:
        problem = f"a direct run waits for its turn for nothing to {LONGEST_WAIT.total_seconds():g} s"
        raise InvalidOptionError(timeout, problem, "Pass a timedelta, e.g. timeout=timedelta(minutes=1).")
    if job_type.concurrency is None and timeout <= NOTICED_AFTER:
        raise InvalidOptionError(
            timeout,
            f"{job_type.name} has no concurrency limit, so its turn comes after {NOTICED_AFTER.total_seconds():g} s "
            "at the earliest, when every poller and handler knows of it",
            "Pass a longer timeout, or give the type a limit in its job.toml.",
        )


def _refuse_if_stopped(job_type: str, services: Services) -> None:
    pause = services.deployment.switches(fresh=True).pauses.get(job_type)
    services.deployment.refuse_if_halted()
    if pause is not None:
        raise JobTypePausedError(job_type, pause.by, to_text(pause.at), pause.reason)


# Whoever does it is a Lambda, too: it waits for its turn and for the handler within its own 15 minutes.
LONGEST_RUN = timedelta(minutes=15) - timedelta(seconds=20)

_FIRST_PAUSE = timedelta(milliseconds=100)
_LONGEST_PAUSE = timedelta(seconds=1)


def accept(wanted: DirectRequest, services: Services, *, reason: str, key: str = "") -> DirectRequest:
    """Keep a direct run to be done, with the record of who wanted it; one that was accepted before is found again.

    Its id is the same for the same idempotency key, however often that comes. It counts as asked for when it is kept.
    """
    run_id, target = wanted.run_id, f"direct-run#{wanted.run_id}"

    def attempt() -> DirectRequest | None:
        found = services.store.direct_requests.get(run_id)
        now = services.clock.now()
        if found is not None and found.expires_at > now:
            if found.fingerprint != wanted.fingerprint:
                raise RequestKeyReusedError(key)
            return found
        job_type = checked_type(wanted.job_type, services, timeout=wanted.timeout)
        _refuse_too_long(wanted.timeout, job_type)
        details = {"job_type": job_type.name}
        entry = audit_entry_by_actor("direct run", target, "direct_run", services, reason=reason, **details)
        request, audits = replace(wanted, by=entry.by, asked_at=now), services.store.audits
        return request if audits.commit([acceptance(request)], audits.audit(entry)) else None

    return retried(f"direct run {run_id}", attempt, services)


def find_direct(run_id: str, services: Services) -> DirectRequest:
    found = services.store.direct_requests.get(run_id)
    if found is None or found.expires_at <= services.clock.now():
        raise JobNotFoundError("direct run", run_id)
    return found


def wait_for_direct(run_id: str, services: Services, *, patience: timedelta) -> DirectRequest:
    """Look until it has ended, but no longer than `patience`."""
    give_up_at, pause = services.clock.now() + patience, _FIRST_PAUSE
    while True:
        found = find_direct(run_id, services)
        left = give_up_at - services.clock.now()
        if found.state_at(services.clock.now()).has_ended or left <= timedelta(0):
            return found
        services.clock.sleep(min(pause, left))
        pause = min(pause * 2, _LONGEST_PAUSE)


def perform(run_id: str, services: Services, *, worker_id: str) -> DirectRequest | None:
    """Do an accepted direct run and keep how it went; None where that is nobody's to do, or another's already."""
    found = services.store.direct_requests.get(run_id)
    now = services.clock.now()
    if found is None or found.state is not DirectState.ACCEPTED or now > found.begin_by:
        return None
    job_type = services.deployment.settings_of(found.job_type)
    taken = replace(
        found,
        state=DirectState.RUNNING,
        taken_by=make_nonce(services.random_source, worker_id),
        until=over_by(now + found.timeout, job_type) + CLOCK_TOLERANCE,
    )
    if not services.store.direct_requests.take(taken):
        return None
    ended = _done(taken, services)
    services.store.direct_requests.end(ended)
    return ended


def _done(request: DirectRequest, services: Services) -> DirectRequest:
    def started() -> None:
        nonlocal request
        request = replace(request, started_at=services.clock.now())

    run_id, payload_text, timeout = request.run_id, request.payload_text or "", request.timeout
    try:
        result = run_now(request.job_type, payload_text, services, timeout=timeout, run_id=run_id, on_turn=started)
        text = encode_result(result)
    except DirectRunError as failed:
        error, code = failed.error, failed.error_code
    except LeaseholdError as failed:
        error, code = str(failed), failed.code
    else:
        return replace(request, state=DirectState.COMPLETED, ended_at=services.clock.now(), result_text=text)
    error, ended_at = shortened(error, MAX_ERROR_BYTES) or code, services.clock.now()
    return replace(request, state=DirectState.FAILED, ended_at=ended_at, error=error, error_code=code)


def _refuse_too_long(timeout: timedelta, job_type: JobType) -> None:
    longest = timeout + COLD_START + job_type.timeout + CLOCK_TOLERANCE
    if longest > LONGEST_RUN:
        raise InvalidOptionError(
            timeout,
            f"this wait and the {job_type.timeout.total_seconds():g} s that {job_type.name} may run are together more "
            f"than the {LONGEST_RUN.total_seconds():g} s that a direct run can take here",
            "Pass a shorter timeout, or enqueue a job.",
        )
