"""Direct runs that outlast whoever asked for them: accepted with their record, done elsewhere, and looked at later."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from leasehold.domain.direct_request import DirectRequest, DirectState
from leasehold.domain.direct_run import COLD_START, over_by
from leasehold.domain.errors import (
    DirectRunError,
    InvalidOptionError,
    JobNotFoundError,
    LeaseholdError,
    RequestKeyReusedError,
)
from leasehold.domain.job_type import CLOCK_TOLERANCE
from leasehold.domain.lean import dataclass
from leasehold.domain.payload import encode_result
from leasehold.domain.run import MAX_ERROR_BYTES
from leasehold.domain.text import shortened
from leasehold.engine.deeds import check_deed, deed_of, retried, token_of
from leasehold.engine.ports import make_nonce
from leasehold.engine.run_now import checked_type, run_now
from leasehold.store.direct_requests import acceptance

if TYPE_CHECKING:
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts

# Whoever does it is a Lambda, too: it waits for its turn and for the handler within its own 15 minutes.
LONGEST_RUN = timedelta(minutes=15) - timedelta(seconds=20)

_FIRST_PAUSE = timedelta(milliseconds=100)
_LONGEST_PAUSE = timedelta(seconds=1)


class Starter(Protocol):
    def start(self, run_id: str) -> None:
        """Have `perform` done elsewhere, without waiting for it; raise DispatchError if that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectOrder:
    """What a caller asks for. run_id: the same for the same idempotency key, however often it comes."""

    run_id: str
    job_type: object
    payload_text: str
    timeout: timedelta
    reason: str
    key: str = ""
    fingerprint: str = ""


def accept(order: DirectOrder, parts: Parts) -> DirectRequest:
    """Keep a direct run to be done, with the record of who wanted it; one that was accepted before is found again."""

    def attempt() -> DirectRequest | None:
        found = parts.store.direct_requests.get(order.run_id)
        now = parts.clock.now()
        if found is not None and found.expires_at > now:
            return _the_same(found, order)
        job_type = checked_type(order.job_type, parts, timeout=order.timeout)
        _refuse_too_long(order.timeout, job_type)
        actor = parts.identity.actor()
        check_deed("direct run", actor, order.reason)
        request = DirectRequest(
            run_id=order.run_id,
            job_type=job_type.name,
            fingerprint=order.fingerprint,
            by=actor,
            asked_at=now,
            timeout=order.timeout,
            payload_text=order.payload_text,
        )
        target = f"direct-run#{order.run_id}"
        deed = deed_of(target, "direct_run", {"job_type": job_type.name}, parts, by=actor, reason=order.reason)
        audit = parts.store.audits.audit(deed)
        is_kept = parts.store.audits.commit([acceptance(request)], audit, token=token_of(deed))
        return request if is_kept else None

    return retried(f"direct run {order.run_id}", attempt, parts)


def find_direct(run_id: str, parts: Parts) -> DirectRequest:
    found = parts.store.direct_requests.get(run_id)
    if found is None or found.expires_at <= parts.clock.now():
        raise JobNotFoundError("direct run", run_id)
    return found


def wait_for_direct(run_id: str, parts: Parts, *, patience: timedelta) -> DirectRequest:
    """Look until it has ended, but no longer than `patience`."""
    give_up_at, pause = parts.clock.now() + patience, _FIRST_PAUSE
    while True:
        found = find_direct(run_id, parts)
        left = give_up_at - parts.clock.now()
        if found.state_at(parts.clock.now()).has_ended or left <= timedelta(0):
            return found
        parts.clock.sleep(min(pause, left))
        pause = min(pause * 2, _LONGEST_PAUSE)


def perform(run_id: str, parts: Parts, *, worker_id: str) -> DirectRequest | None:
    """Do an accepted direct run and keep how it went; None where that is nobody's to do, or another's already."""
    found = parts.store.direct_requests.get(run_id)
    now = parts.clock.now()
    if found is None or found.state is not DirectState.ACCEPTED or now > found.begin_by:
        return None
    job_type = parts.deployment.settings_of(found.job_type)
    taken = replace(
        found,
        state=DirectState.RUNNING,
        taken_by=make_nonce(parts.chance, worker_id),
        until=over_by(now + found.timeout, job_type) + CLOCK_TOLERANCE,
    )
    if not parts.store.direct_requests.take(taken):
        return None
    ended = _done(taken, parts)
    parts.store.direct_requests.end(ended)
    return ended


def _done(request: DirectRequest, parts: Parts) -> DirectRequest:
    def started() -> None:
        nonlocal request
        request = replace(request, started_at=parts.clock.now())

    try:
        result = run_now(
            request.job_type,
            request.payload_text or "",
            parts,
            timeout=request.timeout,
            run_id=request.run_id,
            on_turn=started,
        )
        text = encode_result(result)
    except DirectRunError as error:
        return _failed(request, error.error, error.error_code, parts)
    except LeaseholdError as error:
        return _failed(request, str(error), error.code, parts)
    return replace(request, state=DirectState.COMPLETED, ended_at=parts.clock.now(), result_text=text)


def _failed(request: DirectRequest, error: str, code: str, parts: Parts) -> DirectRequest:
    return replace(
        request,
        state=DirectState.FAILED,
        ended_at=parts.clock.now(),
        error=shortened(error, MAX_ERROR_BYTES) or code,
        error_code=code,
    )


def _the_same(found: DirectRequest, order: DirectOrder) -> DirectRequest:
    if found.fingerprint != order.fingerprint:
        raise RequestKeyReusedError(order.key)
    return found


def _refuse_too_long(timeout: timedelta, job_type: JobType) -> None:
    longest = timeout + COLD_START + job_type.timeout + CLOCK_TOLERANCE
    if longest > LONGEST_RUN:
        raise InvalidOptionError(
            timeout,
            f"this wait and the {job_type.timeout.total_seconds():g} s that {job_type.name} may run are together more "
            f"than the {LONGEST_RUN.total_seconds():g} s that a direct run can take here",
            "Pass a shorter timeout, or enqueue a job.",
        )
