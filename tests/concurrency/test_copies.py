"""Lambda may deliver a hand-over twice; two pollers may find the same orphan. Either way it happens once."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobStatus, JobType, NewJob, Worker
from leasehold.kernel.execute import Execution, Executor
from leasehold.kernel.poll import Poller
from leasehold.telemetry import Event
from tests.concurrency.race import at_once
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.services import Services

COPIES = 50

pytestmark = pytest.mark.dynoxide


class Anything(BaseModel):
    n: int = 0


class Count(BaseJobHandler):
    handled: list[int]

    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Anything

    def handle(self, payload: BaseModel) -> None:
        assert isinstance(payload, Anything)
        self.handled.append(payload.n)


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    return RealQueue(make_client(dynoxide_endpoint), [JobType(name="count", max_attempts=2)])


def test_a_hand_over_that_is_delivered_twice_at_once_runs_once(deployed: RealQueue) -> None:
    deployed.queue.enqueue_many(NewJob(job="count", payload={"n": n}) for n in range(COPIES))
    inbox = Inbox()
    Poller(deployed.process(), inbox, worker_id="poller").poll()
    assert len(inbox.handovers) == COPIES
    handled: list[int] = []
    handlers = {"count": type("Counting", (Count,), {"handled": handled})}
    first, second = (
        Worker(deployed.process(), handlers, worker_id=name, limit_time=False) for name in ("first", "second")
    )

    for handover in inbox.handovers:
        answers = at_once([partial(first.run, handover), partial(second.run, handover)])
        assert sorted(answers) == [Execution.COMPLETED, Execution.NOT_STARTED]
        job = deployed.job(handover.job_id)
        assert (job.status, job.attempts, len(job.runs)) == (JobStatus.COMPLETED, 1, 1)

    assert sorted(handled) == list(range(COPIES))


def orphan(deployed: RealQueue, *, starts: int) -> JobId:
    """A job whose lease has just expired, started so many times; the last of its workers is lost."""
    job_id = deployed.queue.enqueue("count", {}).job_id
    inbox = Inbox()
    poller = Poller(deployed.process(), inbox, worker_id="earlier")
    for _ in range(max(starts, 1)):
        while not inbox.handovers:
            poller.poll()
            deployed.clock.advance(timedelta(minutes=1))
        handover = inbox.handovers.pop()
        if starts:
            Executor(deployed.process(), worker_id="lost").begin(handover)
        deployed.clock.advance(timedelta(minutes=10))
    assert deployed.job(job_id).status is JobStatus.IN_PROGRESS
    return job_id


def reap_by_two(deployed: RealQueue, monkeypatch: pytest.MonkeyPatch) -> list[PollReport]:
    """Two polls that both have read the orphan before either of them writes: the worst moment there is."""
    both_have_read = threading.Barrier(2)

    def poller_of(services: Services) -> Poller:
        read = services.store.jobs.get

        def read_together(job_id: JobId) -> Any:
            job = read(job_id)
            both_have_read.wait(timeout=10)
            return job

        monkeypatch.setattr(services.store.jobs, "get", read_together)
        return Poller(services, Inbox(), worker_id="poller")

    return at_once([poller_of(deployed.process()).poll, poller_of(deployed.process()).poll])


@pytest.mark.parametrize(
    ("starts", "status", "dead_letters"),
    [
        pytest.param(0, JobStatus.PENDING, 0, id="never started"),
        pytest.param(1, JobStatus.FAILED, 0, id="started"),
        pytest.param(2, JobStatus.DEAD_LETTER, 1, id="started for the last time"),
    ],
)
def test_two_pollers_on_one_orphan_reap_it_once(
    starts: int, status: JobStatus, dead_letters: int, deployed: RealQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = orphan(deployed, starts=starts)
    deployed.telemetry.events.clear()

    reports = reap_by_two(deployed, monkeypatch)

    job = deployed.job(job_id)
    assert (job.status, len(job.runs), job.attempts) == (status, starts, starts)
    assert all(run.error_code == "worker_lost" for run in job.runs)
    assert sorted(report.reaped for report in reports) == [0, 1]
    assert len(list(deployed.operator.dead_letters())) == dead_letters
    assert len(deployed.telemetry.of(Event.JOB_REAPED)) == 1
    assert len(deployed.telemetry.of(Event.JOB_DEAD_LETTERED)) == dead_letters
