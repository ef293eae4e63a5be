"""Release: a hand-over that does not come to its start. Its job waits again, is given up, or it is too late for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.end import Ending, Failure
from leasehold.kernel.next_attempt import handed_back_values, is_given_up, waiting_values
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.transitions import DEAD_LETTER, EXPIRE, RELEASE
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.hooks import Hooks
    from leasehold.kernel.job import Job
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services

_RELEASED_FOR = timedelta(seconds=60)


def release(handover: Handover, reason: str, services: Services, *, until: datetime | None = None) -> bool:
    """Put back a claimed job that has not started, due after a backoff or at `until`. No attempt is used.

    False if somebody else decided about it meanwhile.
    """
    job = services.store.jobs.get(handover.job_id)
    if job is None or job.locked_by != handover.token:
        return False
    now = services.clock.now()
    if until is None and is_given_up(job, now):
        text = f"no handler was reached in {job.dispatches} hand-overs: {reason}"
        return Ending(job, DEAD_LETTER, services, failure=Failure(error=text, code="undeliverable")).conclude()
    values = handed_back_values(job, services) if until is None else waiting_values(job, until, now)
    ending = Ending(job, RELEASE, services, values=values)
    try:
        ending.commit()
    except TransitionRefused:
        return False
    services.telemetry.event(
        Event.JOB_RELEASED, job_id=job.job_id, job_type=job.job_type, dispatches=job.dispatches, reason=reason
    )
    ending.after()
    return True


def turn_back(handover: Handover, switches: Switches, joining: Sequence[Hooks], services: Services) -> bool:
    """Release a hand-over whose type may not run now; False if it may."""
    now, job_type = services.clock.now(), handover.job_type
    if switches.stop(job_type) or switches.reserved_until(job_type, now):
        # It may be over: who gives back at once is free at once, and would be handed one job after the other.
        switches = services.deployment.switches(fresh=True)
    if switches.stop(job_type):
        release(handover, "halted" if switches.halt else "paused", services, until=now + _RELEASED_FOR)
    elif switches.reserved_until(job_type, now):
        # Due at once: the next poll holds it, and the end of the reservation wakes it.
        release(handover, "reserved", services, until=now)
    else:
        reasons = (hooks.stops_start(handover, services) for hooks in joining)
        reason = next((each for each in reasons if each is not None), None)
        if reason is not None:
            release(handover, reason, services, until=now)
        return reason is not None
    for hooks in joining:
        hooks.never_started(handover, services)
    return True


def expire_if_too_late(job: Job | None, services: Services) -> bool:
    """End a job that was not started by its `start_by`; False if that is not what kept it from starting."""
    now = services.clock.now()
    if job is None or job.start_by is None or job.start_by > now or job.has_ended:
        return False
    reason = f"not started by {job.start_by.isoformat(timespec='milliseconds')}"
    return Ending(job, EXPIRE, services, reason=reason).conclude()
