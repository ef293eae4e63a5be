"""An exercise: the first attempt takes longer than it may. A deaf one does not even hear the runtime's own alarm."""

from __future__ import annotations

import signal
import time

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext

LONGER_THAN_THE_TIMEOUT_SECONDS = 60


class Slowpoke(BaseModel):
    is_deaf: bool = False


class SlowpokeHandler(BaseJobHandler[Slowpoke]):
    def handle(self, payload: Slowpoke, context: JobContext) -> dict[str, int]:
        if context.attempt == 1:
            if payload.is_deaf:
                # As a call into C code would be that never gives control back to Python.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
            time.sleep(LONGER_THAN_THE_TIMEOUT_SECONDS)
        return {"quick_at_attempt": context.attempt}
