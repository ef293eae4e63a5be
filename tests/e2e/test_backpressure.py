"""A thousand jobs at once on the deployed stack, where few can run: they are handed over as they start.

Deep: it takes two minutes of both cores. The same is measured in virtual time by tests/benchmarks/aws_latency.py.
"""

from __future__ import annotations

import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, NewJob
from leasehold.kernel.transitions import JobStatus
from leasehold.local.aws.connection import open_queue
from tests.e2e.test_api import Client
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from tests.local_stack import LocalStack

pytestmark = [*LOCAL_AWS, pytest.mark.deep]

JOBS = 1_000
TYPE = "brief"
HANDLER = """
    import time

    from pydantic import BaseModel

    from leasehold import BaseJobHandler


    class Nothing(BaseModel):
        pass


    class Brief(BaseJobHandler[Nothing]):
        def handle(self, payload: Nothing) -> None:
            time.sleep(0.1)
"""
UNLIMITED = 'timeout = "30s"\nconcurrency = "unlimited"\n'
WITHIN = timedelta(minutes=3)
# What a user waits for a page before giving up; the API answers in a fraction of it.
RESPONSIVE_SECONDS = 10


@pytest.fixture
def brief(local_stack: LocalStack) -> Iterator[LocalStack]:
    """With a job type of a tenth of a second that nobody has run yet; the poller is cold too."""
    folder = local_stack.project.root / "functions" / "exercises" / TYPE
    folder.mkdir()
    (folder / "handler.py").write_text(dedent(HANDLER))
    (folder / "job.toml").write_text(UNLIMITED)
    local_stack.deploy()
    local_stack.kill_function("poller")
    yield local_stack
    shutil.rmtree(folder)
    local_stack.deploy()


class Watch:
    """Looks at the jobs and asks the API while they run."""

    def __init__(self, stack: LocalStack, jobs: list[JobId]) -> None:
        self.most_unstarted = 0
        self.answers: list[tuple[int, float]] = []
        self._jobs, self._queue, self._user = jobs, open_queue(stack.running), Client(stack, "operator-of-a-rush")
        self._asking = threading.Thread(target=self._ask)
        self._is_over = threading.Event()

    def until_all_ended(self) -> list[Job]:
        self._asking.start()
        try:
            return eventually(self._ended, within=WITHIN, every=0.5)
        finally:
            self._is_over.set()
            self._asking.join()

    def _ended(self) -> list[Job]:
        jobs = list(self._queue.services.store.jobs.get_many(self._jobs).values())
        self.most_unstarted = max(self.most_unstarted, sum(_is_unstarted(job) for job in jobs))
        return jobs if all(job.has_ended for job in jobs) else []

    def _ask(self) -> None:
        while not self._is_over.wait(1.0):
            began = time.monotonic()
            status, _ = self._user.send(f"GET /api/jobs/{self._jobs[0]}")
            self.answers.append((status, time.monotonic() - began))


def _is_unstarted(job: Job) -> bool:
    """Claimed; a start takes back the count of hand-overs that reached nobody."""
    return job.locked_by is not None and job.dispatches > 0


def _handed_over(stack: LocalStack) -> int:
    return sum(int(each.get("dispatched", 0)) for each in stack.events("poller", "poll_finished"))


def test_a_thousand_jobs_of_an_unlimited_type_are_handed_over_as_they_start(
    brief: LocalStack, capsys: pytest.CaptureFixture[str]
) -> None:
    before, began_at = _handed_over(brief), datetime.now(UTC)
    made = brief.queue.enqueue_many([NewJob(job=TYPE, payload={})] * JOBS)
    watch = Watch(brief, [each.job_id for each in made if isinstance(each, Enqueued)])

    jobs = watch.until_all_ended()

    assert len(jobs) == JOBS, f"not all of them ended within {WITHIN}"
    took = max(job.completed_at for job in jobs if job.completed_at) - began_at
    handed_over = _handed_over(brief) - before
    slowest = max(seconds for _, seconds in watch.answers)
    with capsys.disabled():
        print(
            f"\n{JOBS} jobs in {took.total_seconds():.0f} s, {handed_over} hand-overs, at most {watch.most_unstarted} "
            f"claimed and unstarted; {len(watch.answers)} answers of the API, the slowest after {slowest:.1f} s"
        )
    assert [job.status for job in jobs] == [JobStatus.COMPLETED] * JOBS
    assert took < WITHIN
    assert JOBS <= handed_over <= 1.3 * JOBS
    assert watch.most_unstarted <= 50
    assert {status for status, _ in watch.answers} == {200}
    assert slowest < RESPONSIVE_SECONDS
