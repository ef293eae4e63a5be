"""What one poll did."""

from __future__ import annotations

from dataclasses import asdict

from leasehold.domain.lean import dataclass

NOTHING_DUE = "nothing due"
HALT = "halt"


@dataclass(slots=True)
class PollReport:
    """Counts of one poll. `lost_races` are claims that another poller was quicker with; `failed` are entries that
    could not be handled and were passed by. `stopped_by` says why the poll ended.
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
    lost_races: int = 0
    failed: int = 0
    stopped_by: str = NOTHING_DUE

    @property
    def goes_on(self) -> bool:
        return self.stopped_by == NOTHING_DUE

    def as_fields(self) -> dict[str, object]:
        return asdict(self)
