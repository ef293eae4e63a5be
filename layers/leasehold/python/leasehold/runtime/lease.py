"""The lease of a run: it is prolonged while its handler works, and shows whether somebody asked it to stop."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import LeaseholdError, LeaseLostError, StoreUnavailableError
from leasehold.kernel.jobs import Write
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.transitions import EXTEND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.execute import Attempt

_CANCEL_READ_EVERY = timedelta(seconds=5)
# How long a beat is waited for: a part of the time that is kept back for the job's end.
_LONGEST_WAIT = timedelta(milliseconds=500)


def extend(attempt: Attempt) -> datetime:
    """Prolong the lease from now; LeaseLostError once it has expired or somebody else has the job."""
    now = attempt.services.clock.now()
    until = max(now + attempt.job_type.lease_length, attempt.lease_until + timedelta(milliseconds=1))
    assert attempt.job.due is not None
    values = {"lock_expires_at": until, "due_key": attempt.job.due._replace(at=until)}
    seen = {"locked_by": attempt.job.locked_by, "now": now, "until": until}
    write = Write(job_id=attempt.job.job_id, transition=EXTEND, seen=seen, values=values)
    try:
        current = attempt.services.store.jobs.apply_and_read(write)
    except TransitionRefused as refused:
        # The heartbeat and the handler may extend at the same time: the shorter of the two has lost nothing.
        is_ours = refused.current is not None and refused.current.locked_by == attempt.job.locked_by
        if refused.current is None or not is_ours or (refused.current.lock_expires_at or until) <= until:
            raise attempt.lost(EXTEND, refused.current) from None
        current = refused.current
    attempt.see(current)
    attempt.cancel_read_at = now
    attempt.lease_until = max(attempt.lease_until, current.lock_expires_at or until)
    return attempt.lease_until


def is_cancel_requested(attempt: Attempt) -> bool:
    """Whether an operator asked this job to stop; read at most every few seconds."""
    now, read_at = attempt.services.clock.now(), attempt.cancel_read_at
    if attempt.job.cancel_requested is None and (read_at is None or now - read_at >= _CANCEL_READ_EVERY):
        attempt.cancel_read_at = now
        try:
            current = attempt.services.store.jobs.get(attempt.job.job_id)
        except StoreUnavailableError:
            return False  # nothing is known to have changed; the next look asks again
        if current is None or current.locked_by != attempt.job.locked_by:
            raise LeaseLostError(attempt.job.job_id, "reading it", current.status if current else None)
        attempt.see(current)
    return attempt.job.cancel_requested is not None


@contextmanager
def heartbeat(attempt: Attempt) -> Iterator[None]:
    """Extend every third of the lease. A lease that is lost meanwhile is raised when the handler returns."""
    stop = threading.Event()
    lost: list[LeaseLostError] = []
    interval = attempt.job_type.lease_length.total_seconds() / 3

    def beat() -> None:
        while not stop.wait(interval):
            try:
                extend(attempt)
            except LeaseLostError as error:
                lost.append(error)
                return
            except LeaseholdError:
                continue  # the store may answer at the next beat; two more fit into the lease

    thread = threading.Thread(target=beat, name="leasehold-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        # A beat that meets an outage lasts as long as the client tries: it is left behind. What it still writes is an
        # extension of this lease, which does no harm, or is refused once the job has ended.
        thread.join(_LONGEST_WAIT.total_seconds())
    # A handler that completed by itself has no lease left to lose.
    if lost and not attempt.has_ended:
        raise lost[0]
