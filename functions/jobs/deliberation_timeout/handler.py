"""Decides a deliberation whose time is up. Enqueue it with `run_at` = its deadline when the deliberation starts.

Replace `votes` by a read of the session, and what is returned by a write that closes it.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Literal

from pydantic import AwareDatetime, BaseModel

from leasehold import BaseJobHandler, JobContext, Skip, Snooze

JUDGES = 3


class DeliberationTimeout(BaseModel):
    petition_id: str
    started_at: AwareDatetime
    limit: timedelta = timedelta(minutes=5)
    votes: dict[str, Literal["acknowledge", "refer", "escalate"]] = {}


class DeliberationTimeoutHandler(BaseJobHandler[DeliberationTimeout]):
    def handle(self, payload: DeliberationTimeout, context: JobContext) -> dict[str, str]:
        if len(payload.votes) >= JUDGES:
            raise Skip(f"all have voted on petition {payload.petition_id}")
        left = payload.started_at + payload.limit - context.started_at
        if left > timedelta(0):
            raise Snooze(left)
        majority = [verdict for verdict, votes in Counter(payload.votes.values()).items() if votes > JUDGES / 2]
        # Without a majority a petition goes up rather than getting lost.
        return {"petition_id": payload.petition_id, "verdict": majority[0] if majority else "escalate"}
