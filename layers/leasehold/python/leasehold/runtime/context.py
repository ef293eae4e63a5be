"""What a handler may know and do besides its payload."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.payload import encode_result
from leasehold.domain.run import MAX_ARTIFACT_BYTES, MAX_ARTIFACTS

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence
    from datetime import datetime
    from typing import Any

    from leasehold.domain.payload import Json
    from leasehold.kernel.attempt import Attempt
    from leasehold.store.table import ForeignItem


class JobContext:
    """The running attempt, as its handler sees it."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self.logger = JobLogger(
            logging.getLogger(f"leasehold.jobs.{attempt.job.job_type}"),
            {
                "job_id": attempt.job.job_id,
                "job_type": attempt.job.job_type,
                "attempt": attempt.job.attempts,
                "trace": attempt.job.trace,
            },
        )

    @property
    def job_id(self) -> str:
        return self._attempt.job.job_id

    @property
    def job_type(self) -> str:
        return self._attempt.job.job_type

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return self._attempt.job.attempts

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this job: give it to whatever must not be done twice."""
        return self._attempt.job.job_id

    @property
    def trace(self) -> str | None:
        return self._attempt.job.trace

    @property
    def started_at(self) -> datetime:
        """When this attempt started, by the queue's own clock: a test's fake clock moves it."""
        assert self._attempt.job.started_at is not None
        return self._attempt.job.started_at

    @property
    def deadline(self) -> datetime:
        """When the platform ends this attempt."""
        return self._attempt.deadline

    @property
    def cancel_requested(self) -> bool:
        """Whether an operator asked this job to stop. Long handlers look, and raise Cancel."""
        return self._attempt.is_cancel_requested()

    def extend(self) -> datetime:
        """Prolong the lease; LeaseLostError if another owner has the job by now: stop at once."""
        return self._attempt.extend()

    def add_artifact(self, location: str) -> None:
        """Note where this run put something, e.g. an S3 address."""
        check_artifact(location, len(self._attempt.artifacts))
        self._attempt.artifacts.append(location)

    def transact_complete(self, items: Sequence[ForeignItem], result: Json = None) -> None:
        """Complete the job together with your own DynamoDB writes: both happen, or neither.

        `items` are those of TransactWriteItems. If one of their conditions fails, TransactionRefusedError says which,
        and the job goes on.
        """
        self._attempt.complete_with(items, None if result is None else encode_result(result))


def check_artifact(location: str, noted: int) -> None:
    """Whether one more may be noted by a run that has noted so many."""
    if not 0 < len(location.encode()) <= MAX_ARTIFACT_BYTES:
        raise InvalidOptionError(location, f"an artifact is 1 to {MAX_ARTIFACT_BYTES} bytes of text", "Shorten it.")
    if noted >= MAX_ARTIFACTS:
        raise InvalidOptionError(location, f"a run has at most {MAX_ARTIFACTS} artifacts", "Note a folder instead.")


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the job to every line, next to what the caller adds."""

    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[object, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs
