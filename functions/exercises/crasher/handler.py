"""An exercise: its process ends in the middle of a job, without a word; or lingers, for somebody else to end it."""

from __future__ import annotations

import os
import time

from pydantic import BaseModel, NonNegativeFloat, NonNegativeInt

from leasehold import BaseJobHandler, JobContext


class Crasher(BaseModel):
    crashes: NonNegativeInt = 0
    lingers_seconds: NonNegativeFloat = 0


class CrasherHandler(BaseJobHandler[Crasher]):
    def handle(self, payload: Crasher, context: JobContext) -> dict[str, int]:
        if context.attempt <= payload.crashes:
            os._exit(1)
        if context.attempt == 1:
            time.sleep(payload.lingers_seconds)
        return {"survived_attempt": context.attempt}
