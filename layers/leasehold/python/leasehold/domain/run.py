"""Runs: what happened each time a job was started."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass
from leasehold.domain.text import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.domain.ids import JobId

# Payload, result, error and runs share one 400 KB item; these bounds leave no end state unwritable.
MAX_RUNS = 20
MAX_HISTORY_BYTES = 96 * 1024
MAX_RUN_ERROR_BYTES = 1_024
MAX_REASON_BYTES = 1_024
MAX_CODE_BYTES = 128
MAX_ERROR_BYTES = 8_192
MAX_ARTIFACTS = 20
MAX_ARTIFACT_BYTES = 512


class Outcome(StrEnum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One start of a job. `number` counts all runs, also those that were dropped from the bounded history."""

    number: int
    worker: str
    started_at: datetime
    ended_at: datetime
    outcome: Outcome
    error: str | None = None
    error_code: str | None = None
    # Why a run was skipped or cancelled by its own handler.
    reason: str | None = None
    artifacts: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes it takes in a table: its texts, and some for names and numbers."""
        texts = (self.worker, self.error or "", self.error_code or "", self.reason or "", *self.artifacts)
        return 200 + sum(len(text.encode()) + 4 for text in texts)

    def run_id(self, job_id: JobId) -> str:
        return f"{job_id}.{self.number}"


def appended(runs: Sequence[Run], run: Run) -> tuple[Run, ...]:
    """The history with one more run; the oldest goes first when it is full."""
    history = (*runs, run)[-MAX_RUNS:]
    while len(history) > 1 and sum(each.size for each in history) > MAX_HISTORY_BYTES:
        history = history[1:]
    return history


def next_number(runs: Sequence[Run]) -> int:
    return runs[-1].number + 1 if runs else 1


def run_error(text: str | None) -> str | None:
    """A run keeps the end of its error: that is where the exception is."""
    return None if text is None else shortened(text, MAX_RUN_ERROR_BYTES)
