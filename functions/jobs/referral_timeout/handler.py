"""Ends a referral that nobody answered by its deadline. Enqueue it with `run_at=due_at` when the referral is made.

Replace `answered_at` and `extended_until` by a read of the referral, and what is returned by a write that expires it.
"""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel

from leasehold import BaseJobHandler, JobContext, Skip, Snooze


class ReferralTimeout(BaseModel):
    petition_id: str
    knight_id: str
    due_at: AwareDatetime
    extended_until: AwareDatetime | None = None
    answered_at: AwareDatetime | None = None


class ReferralTimeoutHandler(BaseJobHandler[ReferralTimeout]):
    def handle(self, payload: ReferralTimeout, context: JobContext) -> dict[str, str]:
        due_at = payload.extended_until or payload.due_at
        if payload.answered_at is not None and payload.answered_at <= due_at:
            raise Skip(f"the referral of petition {payload.petition_id} was answered in time")
        if context.started_at < due_at:
            raise Snooze(due_at - context.started_at)
        return {"petition_id": payload.petition_id, "knight_id": payload.knight_id, "outcome": "expired"}
