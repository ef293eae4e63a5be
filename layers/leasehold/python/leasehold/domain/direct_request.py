"""A direct run that somebody asked for and does not wait for: who, what, and how it went, until it is forgotten."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.domain.job_type import CLOCK_TOLERANCE
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

# Whoever is to do it begins within this time, or not at all.
BEGINS_WITHIN = timedelta(seconds=60)
KEPT_FOR = timedelta(hours=24)


class DirectState(StrEnum):
    ACCEPTED = "accepted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    # Never written: what is seen once nobody can be at it any more and nothing was said.
    LOST = "lost"

    @property
    def has_ended(self) -> bool:
        return self in {DirectState.COMPLETED, DirectState.FAILED, DirectState.LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectRequest:
    """until: when it is over for certain. taken_by: the one invocation that does it. payload_text: gone at its end.

    started_at: when its turn had come and the handler was called; noted at its end.
    """

    run_id: str
    job_type: str
    fingerprint: str
    by: str
    asked_at: datetime
    timeout: timedelta
    payload_text: str | None = None
    state: DirectState = DirectState.ACCEPTED
    taken_by: str | None = None
    started_at: datetime | None = None
    until: datetime | None = None
    ended_at: datetime | None = None
    result_text: str | None = None
    error: str | None = None
    error_code: str | None = None

    @property
    def begin_by(self) -> datetime:
        return self.asked_at + BEGINS_WITHIN

    @property
    def expires_at(self) -> datetime:
        return self.asked_at + KEPT_FOR

    def state_at(self, now: datetime) -> DirectState:
        """What can be said of it now: one that nobody begins, or whose end nobody tells, is lost."""
        if self.state is DirectState.ACCEPTED and now > self.begin_by + CLOCK_TOLERANCE:
            return DirectState.LOST
        if self.state is DirectState.RUNNING and self.until is not None and now > self.until:
            return DirectState.LOST
        return self.state
