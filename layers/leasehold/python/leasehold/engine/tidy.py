"""After an end state is committed: give back the seats, let the dedup record expire.

Both may be lost in a crash without harm: a seat whose holder is gone is taken over, and a dedup record that does not
expire only uses a little storage. That is why they are not worth a transaction at every end.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import StoreError
from leasehold.domain.limits import Places
from leasehold.engine.ports import make_stamp
from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

# A dedup record must outlive the job it points to; TTL deletes within days, in no promised order.
_OUTLIVES_BY = timedelta(days=7)


def give_back_seats(job: Job, parts: Parts) -> None:
    """Free the seats of a job that no longer runs, and have the next job of each scope looked at now."""
    if job.seat is None:
        return
    places = Places.parse(job.seat)
    try:
        for scope, number in places.seats:
            if parts.store.holds.free(scope, number, places.taken_by):
                parts.store.holds.nudge(scope, parts.clock.now(), stamp=make_stamp(parts.chance))
    except StoreError as error:
        parts.telemetry.event(Event.TIDY_FAILED, job_id=job.job_id, what="seat", error=str(error))


def retire_dedup_record(job: Job, expires_at: object, parts: Parts) -> None:
    """Let the record go some time after its job, which goes at `expires_at`."""
    if job.dedup is None or not isinstance(expires_at, int):
        return
    try:
        parts.store.dedups.retire(job.dedup, job, expires_at + int(_OUTLIVES_BY.total_seconds()))
    except StoreError as error:
        parts.telemetry.event(Event.TIDY_FAILED, job_id=job.job_id, what="dedup record", error=str(error))
