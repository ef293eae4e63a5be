"""Seats: a job that no longer runs gives its seats back, and the next job of each scope is looked at.

Lost in a crash this does no harm: a seat whose holder is gone is taken over. So it is not worth a transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.limits import Places
from leasehold.engine.ports import make_stamp
from leasehold.kernel.hooks import Hooks

if TYPE_CHECKING:
    from leasehold.engine.parts import Parts
    from leasehold.kernel.hooks import End


class SeatHooks(Hooks):
    def after(self, end: End, services: Parts) -> None:
        if end.job.seat is None or _may_still_run(end):
            return
        places = Places.parse(end.job.seat)
        for scope, number in places.seats:
            if services.store.holds.free(scope, number, places.taken_by):
                services.store.holds.nudge(scope, services.clock.now(), stamp=make_stamp(services.chance))


def _may_still_run(end: End) -> bool:
    """A handler that lost its lease early may still be at work: the limit counts it until its full time is over.

    One that had not started never will: its lease is another's by now.
    """
    if not end.is_orphan or end.job.started_at is None:
        return False
    return end.job.locked_at is not None and end.at < end.job.locked_at + end.job_type.longest_hold
