"""The heartbeat: extends a short lease from a background thread while the handler works."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import LeaseholdError, LeaseLostError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.attempt import Attempt


# A part of the time that is kept back for the job's end.
_LONGEST_WAIT = timedelta(milliseconds=500)


@contextmanager
def heartbeat(attempt: Attempt) -> Iterator[None]:
    """Extend every third of the lease. A lease that is lost meanwhile is raised when the handler returns."""
    stop = threading.Event()
    lost: list[LeaseLostError] = []
    interval = attempt.job_type.lease_length.total_seconds() / 3

    def beat() -> None:
        while not stop.wait(interval):
            try:
                attempt.extend()
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
