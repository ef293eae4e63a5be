"""How long an invocation lives: the handler's own time, whatever the start of its function takes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from leasehold.batches.execute import starts_together
from leasehold.batches.model import Batch
from leasehold.job_folders.folder import function_timeout
from leasehold.kernel.job_type import LONGEST_INVOCATION, START_AND_RESERVE, JobType
from leasehold.runtime import worker
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.timing import RESERVE
from leasehold.runtime.worker import Worker
from leasehold.testing.queue import LeaseholdTest

if TYPE_CHECKING:
    import pytest

SECOND = timedelta(seconds=1)
# The share of a core that a function of 128 MB has: 128 of 1,769 MB. Its imports run before, with a whole core; what
# of its start is left to the invocation (its first calls of AWS) takes 0.1 s of a core, or less.
SHARE = 0.07
START_CPU = timedelta(seconds=0.1)


class Nothing(BaseModel):
    """No field at all."""


class Handler(BaseJobHandler[Nothing]):
    def handle(self, payload: Nothing) -> None:
        return None


def test_a_timeout_of_a_second_at_128_mb_leaves_the_handler_its_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a model of the start, which is stated above: no clock is asked."""
    limits: list[timedelta] = []

    def run_within(limit: timedelta, work: Any) -> object:
        limits.append(limit)
        return work()

    monkeypatch.setattr(worker, "run_within", run_within)
    job_type = JobType(name="quick", timeout=SECOND)
    test = LeaseholdTest({"quick": Handler}, types=[job_type])
    handed: list[Any] = []
    test.dispatch = lambda handover, function: handed.append(handover)  # type: ignore[method-assign]
    test.queue.enqueue("quick", {})
    test.drain()

    left = function_timeout(job_type) - START_CPU / SHARE
    Worker(test.services, {"quick": Handler}, worker_id="w").run(handed[0], remaining=left)

    assert limits == [SECOND]
    assert function_timeout(job_type) == SECOND + START_AND_RESERVE
    assert START_CPU / SHARE < START_AND_RESERVE - RESERVE


def test_a_batch_has_the_time_of_its_jobs_as_far_as_an_invocation_lasts() -> None:
    short = JobType(name="short", timeout=timedelta(seconds=30), batch=Batch(size=10))
    long = JobType(name="long", timeout=timedelta(minutes=5), batch=Batch(size=10))

    assert (short.longest_run, starts_together(short)) == (timedelta(minutes=5), True)
    assert short.full_lease > short.longest_run
    assert (function_timeout(long), starts_together(long)) == (LONGEST_INVOCATION, False)
    assert long.longest_run == LONGEST_INVOCATION - START_AND_RESERVE
