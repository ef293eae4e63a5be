"""What one poll did."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

NOTHING_DUE = "nothing due"
HALT = "halt"


@dataclass(slots=True)
class PollReport:
    """Counts of one poll. `looked` are scopes that somebody waits for; `lost_races` are jobs that another poller was
    quicker with; `failed` are entries that could not be handled and were passed by. `stopped_by` says why it ended.
    """

    scanned: int = 0
    claimed: int = 0
    dispatched: int = 0
    released: int = 0
    reaped: int = 0
    settled: int = 0
    triggered: int = 0
    held: int = 0
    expired: int = 0
    turned_away: int = 0
    looked: int = 0
    lost_races: int = 0
    failed: int = 0
    # Jobs that stay due because too many others were handed over and have not started yet.
    held_back: int = 0
    stopped_by: str = NOTHING_DUE
    # When this poll itself has seen to it that something falls due, the soonest.
    soonest_at: datetime | None = None

    @property
    def goes_on(self) -> bool:
        return self.stopped_by == NOTHING_DUE

    @property
    def has_moved_on(self) -> bool:
        """Whether anything that was due is not so any more."""
        of_jobs = self.claimed + self.reaped + self.settled + self.held + self.expired + self.turned_away
        return of_jobs + self.triggered + self.looked > 0

    def note_due(self, at: datetime) -> None:
        self.soonest_at = min(at, self.soonest_at or at)

    def as_fields(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "soonest_at"}
