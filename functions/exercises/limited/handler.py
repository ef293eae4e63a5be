"""An exercise: takes a while, and only two may do so at once."""

from __future__ import annotations

import time

from pydantic import BaseModel, NonNegativeFloat

from leasehold import BaseJobHandler
from leasehold.runtime.entry import entry


class Limited(BaseModel):
    seconds: NonNegativeFloat = 0.3


class LimitedHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Limited]:
        return Limited

    def handle(self, payload: Limited) -> None:
        time.sleep(payload.seconds)


lambda_handler = entry(LimitedHandler)
