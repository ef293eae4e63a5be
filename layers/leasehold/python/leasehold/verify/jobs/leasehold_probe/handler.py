"""What `leasehold verify` sends through a deployment: a job that ends as its payload says, and touches nothing."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext


class Probe(BaseModel):
    do: Literal["complete", "crash", "fail"] = "complete"


class ProbeHandler(BaseJobHandler[Probe]):
    def handle(self, payload: Probe, context: JobContext) -> dict[str, int]:
        if payload.do == "fail":
            raise RuntimeError("failed on purpose, by leasehold verify")
        if payload.do == "crash" and context.attempt == 1:
            os._exit(1)
        return {"attempt": context.attempt}
