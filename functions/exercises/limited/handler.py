"""An exercise: takes a while, and only two may do so at once."""

from __future__ import annotations

import time

from pydantic import BaseModel, NonNegativeFloat

from leasehold import BaseJobHandler


class Limited(BaseModel):
    seconds: NonNegativeFloat = 0.3


class LimitedHandler(BaseJobHandler[Limited]):
    def handle(self, payload: Limited) -> None:
        time.sleep(payload.seconds)
