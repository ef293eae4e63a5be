"""An exercise: fails as often as its payload says, then succeeds. With three failures it never gets that far."""

from __future__ import annotations

from pydantic import BaseModel, NonNegativeInt

from leasehold import BaseJobHandler, JobContext


class Flaky(BaseModel):
    failures: NonNegativeInt = 1
    note: str = ""


class FlakyHandler(BaseJobHandler[Flaky]):
    def handle(self, payload: Flaky, context: JobContext) -> dict[str, int]:
        if context.attempt <= payload.failures:
            raise ConnectionError(f"no answer to attempt {context.attempt}")
        return {"answered_at_attempt": context.attempt}
