"""An example of a job type: a user's summary of the day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold.runtime.handler import BaseJobHandler

if TYPE_CHECKING:
    from leasehold.runtime.handler import JobContext


class DailySummary(BaseModel):
    user_id: str
    day: date | None = None


class DailySummaryHandler(BaseJobHandler[DailySummary]):
    def handle(self, payload: DailySummary, context: JobContext) -> dict[str, str]:
        context.logger.info("summing up", extra={"user_id": payload.user_id})
        day = f" of {payload.day:%d %B %Y}" if payload.day else ""
        return {"user_id": payload.user_id, "summary": f"The day{day} went well."}
