"""Several jobs of a type in one invocation: what its settings are."""

from __future__ import annotations

from datetime import timedelta

from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

SMALLEST_BATCH, LARGEST_BATCH = 2, 100
LONGEST_BATCH_WAIT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several jobs of a type in one invocation.

    size: how many at most. wait: how long a job that is due waits for others before it is claimed.
    """

    size: int = 10
    wait: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if not SMALLEST_BATCH <= self.size <= LARGEST_BATCH:
            problem = f"a batch has {SMALLEST_BATCH} to {LARGEST_BATCH} jobs"
            raise InvalidOptionError(self.size, problem, "Use 10, or leave the batch out.")
        if not timedelta(0) <= self.wait <= LONGEST_BATCH_WAIT:
            problem = f"a batch waits at most {LONGEST_BATCH_WAIT} for its jobs"
            raise InvalidOptionError(self.wait, problem, 'Use a short while, e.g. "1s".')
