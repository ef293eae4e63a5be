"""Looks from time to time whether a petition has enough co-signers, until it has or its time is over.

Replace `co_signers` by a count from your table (or keep it true with `queue.edit`), and what is returned by a write
that escalates the petition.
"""

from __future__ import annotations

from datetime import timedelta

from pydantic import AwareDatetime, BaseModel, NonNegativeInt, PositiveInt

from leasehold import BaseJobHandler, Cancel, JobContext, Snooze


class EscalationCheck(BaseModel):
    petition_id: str
    co_signers: NonNegativeInt
    threshold: PositiveInt
    closes_at: AwareDatetime
    check_every: timedelta = timedelta(hours=1)


class EscalationCheckHandler(BaseJobHandler[EscalationCheck]):
    def handle(self, payload: EscalationCheck, context: JobContext) -> dict[str, object]:
        if payload.co_signers >= payload.threshold:
            return {"petition_id": payload.petition_id, "escalated": True, "co_signers": payload.co_signers}
        left = payload.closes_at - context.started_at
        if left <= timedelta(0):
            raise Cancel(f"petition {payload.petition_id} closed with {payload.co_signers} of {payload.threshold}")
        raise Snooze(min(left, payload.check_every))
