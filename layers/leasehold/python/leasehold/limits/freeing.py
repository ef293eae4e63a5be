"""Freeing: a job that no longer runs gives its seats back, and whoever waits for one is looked at.

Lost in a crash this does no harm: a seat whose holder is gone is taken over at its end. It is not worth a transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.errors import DispatchError
from leasehold.domain.limits import Places
from leasehold.engine.ports import make_stamp
from leasehold.engine.telemetry import Event
from leasehold.kernel.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.engine.parts import Parts
    from leasehold.kernel.hooks import End


class SeatHooks(Hooks):
    def after(self, end: End, services: Parts) -> None:
        if end.job.seat is not None and not _may_still_run(end):
            free_seats(Places.parse(end.job.seat), services)


def free_seats(places: Places, services: Parts) -> None:
    """Free these seats, then have each scope looked at in which somebody waits: by a poller that is started for it.

    Where none can be started the scope is made due, which costs three write units. Should a poller that was started be
    lost, the scope is looked at by the time that its last look has set: at the end of a seat at the latest.
    """
    lines, shards = services.store.lines, services.deployment.registry().shards
    freed = [scope for scope, number in places.seats if lines.free(scope, number, places.taken_by)]
    freed.reverse()
    if services.waker.is_on:
        freed = [scope for scope in freed if lines.seen(scope).is_looked_at]
        if not freed or _is_woken(freed, services):
            return
    for scope in freed:
        lines.nudge(scope, services.clock.now(), stamp=make_stamp(services.chance), shards=shards)


def _is_woken(scopes: Sequence[str], services: Parts) -> bool:
    try:
        services.waker.wake(scopes)
    except DispatchError as error:
        services.telemetry.event(Event.TIDY_FAILED, what="wake", error=str(error))
        return False
    return True


def _may_still_run(end: End) -> bool:
    """A handler that lost its lease early may still be at work: the limit counts it until its full time is over.

    One that had not started never will: its lease is another's by now.
    """
    if not end.is_orphan or end.job.started_at is None:
        return False
    return end.job.locked_at is not None and end.at < end.job.locked_at + end.job_type.longest_hold
