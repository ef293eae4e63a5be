"""What a handler may know and do in a direct run: there is no job, no lease and no second attempt."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.domain.payload import encode_result
from leasehold.runtime.context import JobContext, JobLogger, check_artifact
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.domain.direct_run import DirectRun
    from leasehold.domain.payload import Json
    from leasehold.engine.parts import Parts
    from leasehold.store.table import ForeignItem


class DirectContext(JobContext):
    """A JobContext in whose place a direct run stands."""

    def __init__(self, run: DirectRun, parts: Parts, *, started_at: datetime, deadline: datetime) -> None:
        self._run = run
        self._parts = parts
        self._started_at = started_at
        self._deadline = deadline
        self._artifacts = 0
        # What the handler completed with by itself, before it returned.
        self.completions: list[str | None] = []
        self.logger = JobLogger(
            logging.getLogger(f"leasehold.jobs.{run.job_type}"),
            {"run_id": run.run_id, "job_type": run.job_type, "attempt": 1, "trace": run.trace},
        )

    @property
    def job_id(self) -> str:
        """The run's id: no job has it."""
        return self._run.run_id

    @property
    def job_type(self) -> str:
        return self._run.job_type

    @property
    def attempt(self) -> int:
        return 1

    @property
    def idempotency_key(self) -> str:
        return self._run.run_id

    @property
    def trace(self) -> str | None:
        return self._run.trace

    @property
    def started_at(self) -> datetime:
        return self._started_at

    @property
    def deadline(self) -> datetime:
        return self._deadline

    @property
    def cancel_requested(self) -> bool:
        """Nobody can ask for it: there is no job to cancel."""
        return False

    def extend(self) -> datetime:
        """There is no lease to prolong: the run may go on to its deadline as it is."""
        return self._deadline

    def add_artifact(self, location: str) -> None:
        """Checked as in a job's run, and kept nowhere."""
        check_artifact(location, self._artifacts)
        self._artifacts += 1

    def transact_complete(self, items: Sequence[ForeignItem], result: Json = None) -> None:
        """Make your own DynamoDB writes, all or none; the result is the run's."""
        text = None if result is None else encode_result(result)
        token = request_token(self._run.run_id, "complete", str(len(self.completions)))
        self._parts.store.table.transact((), token=token, foreign=items)
        self.completions.append(text)
