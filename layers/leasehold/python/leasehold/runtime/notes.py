"""What a run notes besides its result: lines of its log, and where it put something."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job import MAX_ARTIFACT_BYTES, MAX_ARTIFACTS

if TYPE_CHECKING:
    from collections.abc import MutableMapping


def logger_of(job_type: str, **named: object) -> JobLogger:
    return JobLogger(logging.getLogger(f"leasehold.jobs.{job_type}"), {**named, "job_type": job_type})


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the job to every line, next to what the caller adds."""

    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[object, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs


def check_artifact(location: str, noted: int) -> None:
    """Whether one more may be noted by a run that has noted so many."""
    if not 0 < len(location.encode()) <= MAX_ARTIFACT_BYTES:
        raise InvalidOptionError(location, f"an artifact is 1 to {MAX_ARTIFACT_BYTES} bytes of text", "Shorten it.")
    if noted >= MAX_ARTIFACTS:
        raise InvalidOptionError(location, f"a run has at most {MAX_ARTIFACTS} artifacts", "Note a folder instead.")
