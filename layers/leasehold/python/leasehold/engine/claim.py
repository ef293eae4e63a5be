"""Claim: take the lease on a due job, with a seat in each of its limits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import run_lane
from leasehold.domain.handover import Handover
from leasehold.domain.ids import shard_of
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import CLAIM, EXPIRE, Write
from leasehold.engine.ports import make_nonce
from leasehold.engine.probe import note_of
from leasehold.engine.seating import places_of, takings_of
from leasehold.engine.telemetry import CLAIMED, Event
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts
    from leasehold.engine.seating import Choice
    from leasehold.store.jobs import DueJob


@dataclass(frozen=True, slots=True)
class Claim:
    """One try to take a lease: however often it has to be asked for, it is the same write with the same token."""

    handover: Handover
    write: Write
    function: str | None


def prepare(entry: DueJob, job_type: JobType, worker_id: str, parts: Parts) -> Claim:
    handover = _handover(entry, job_type, worker_id, parts)
    return Claim(handover, _write(entry, handover, parts), job_type.function)


def claim(wanted: Claim, worker_id: str, parts: Parts) -> Handover:
    """Take the lease by one conditional write; TransitionRefused if the job is not what the index showed."""
    parts.store.jobs.make(wanted.write)
    tell_claimed(wanted.handover, worker_id, parts)
    return wanted.handover


def claim_with_seats(
    entry: DueJob,
    job_type: JobType,
    choices: Sequence[Choice],
    worker_id: str,
    parts: Parts,
    *,
    probing: Circuit | None = None,
) -> Handover:
    """Take the lease together with these seats; SeatsTaken if another claim was faster to one of them.

    `probing` makes the job the probe of its type; ProbeTaken if another is.
    """
    handover = _handover(entry, job_type, worker_id, parts)
    takings = takings_of(choices, entry.job_id, job_type, handover.token, parts.clock.now())
    write = _write(entry, handover, parts, seat=places_of(choices, handover.token))
    numbers = "#".join(f"{each.seat.scope}#{each.seat.number}" for each in takings)
    noted = None if probing is None else note_of(entry.job_id, job_type, probing, parts)
    parts.store.holds.claim(write, takings, token=f"{handover.token}#{numbers}", noted_as_probe=noted)
    tell_claimed(handover, worker_id, parts)
    return handover


def expire_if_too_late(job: Job | None, parts: Parts) -> bool:
    """End a job that was not started by its `start_by`; False if that is not what kept it from starting."""
    now = parts.clock.now()
    if job is None or job.start_by is None or job.start_by > now or job.has_ended:
        return False
    from leasehold.kernel.end import Ending, log_cancelled

    reason = f"not started by {job.start_by.isoformat(timespec='milliseconds')}"
    ending = Ending(job, EXPIRE, parts, reason=reason)
    try:
        ending.commit()
    except TransitionRefused:
        return False
    log_cancelled(job, reason, parts)
    ending.after()
    return True


def _handover(entry: DueJob, job_type: JobType, worker_id: str, parts: Parts) -> Handover:
    # Never before the entry's own time: a slow clock must not write a lease that sorts before what it replaces.
    expires_at = max(parts.clock.now(), entry.due.at + timedelta(milliseconds=1)) + job_type.lease_length
    return Handover(
        job_id=entry.job_id,
        job_type=entry.job_type,
        token=make_nonce(parts.chance, worker_id),
        lease=entry.due.moved_to(expires_at),
    )


def _write(entry: DueJob, handover: Handover, parts: Parts, *, seat: str | None = None) -> Write:
    now = parts.clock.now()
    values: dict[str, object] = {
        "locked_by": handover.token,
        "locked_at": now,
        "lock_expires_at": handover.lease.at,
        "due_lane": run_lane(entry.priority, shard_of(entry.job_id)),
        "due_key": handover.lease,
    }
    if seat is not None:
        values["seat"] = seat
    return Write(job_id=entry.job_id, transition=CLAIM, seen={"due_key": entry.due_key, "now": now}, values=values)


def tell_claimed(handover: Handover, worker_id: str, parts: Parts) -> None:
    parts.telemetry.event(
        Event.JOB_CLAIMED,
        job_id=handover.job_id,
        job_type=handover.job_type,
        worker_id=worker_id,
        lease_until=handover.lease.at.isoformat(),
    )
    parts.telemetry.measure(CLAIMED, 1, job_type=handover.job_type)
