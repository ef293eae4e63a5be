"""A job that kills its worker takes no other with it: one dead letter, and all who shared its batch are completed."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold.batches.model import Batch
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.worker import Worker
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.ports import Handover

JOBS = 100
POISON = 37
DIED = 3


class Number(BaseModel):
    number: int


class Together(BaseJobHandler[Number]):
    def handle_batch(self, payloads, context):
        if any(payload.number == POISON for payload in payloads):
            os._exit(DIED)


class Each(BaseJobHandler[Number]):
    def handle(self, payload: Number) -> None:
        if payload.number == POISON:
            os._exit(DIED)


class ProcessPerInvocation:
    """Gives each invocation a process of its own, as Lambda does, and notes how each ended."""

    def __init__(self, run: Callable[[Sequence[Handover]], object]) -> None:
        self.ends: list[tuple[int, int]] = []
        self._run = run

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.dispatch_batch([handover], function)

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        child = os.fork()
        if child == 0:
            try:
                self._run(handovers)
            except BaseException:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        self.ends.append((len(handovers), os.waitstatus_to_exitcode(status)))


@pytest.mark.dynoxide
@pytest.mark.slow
@pytest.mark.parametrize("handler", [Together, Each])
def test_one_of_a_hundred_batched_jobs_that_kills_its_process_is_the_only_dead_letter(
    handler: type[BaseJobHandler], dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    job_type = JobType(name="count", batch=Batch(size=10), max_attempts=3)
    deployed = RealQueue(make_client(dynoxide_endpoint), [job_type])

    def run(handovers: Sequence[Handover]) -> object:
        # A connection of its own: that of the parent process is not to be shared.
        deployed.client = make_client(dynoxide_endpoint)
        worker = Worker(deployed.process(), {"count": handler}, worker_id="forked", limit_time=False)
        return worker.run_batch(handovers)

    processes = ProcessPerInvocation(run)
    job_ids = [deployed.queue.enqueue("count", {"number": number}).job_id for number in range(JOBS)]
    poller = Poller(deployed.process(), processes, worker_id="poller")

    polls = 0
    while any(not deployed.job(each).has_ended for each in job_ids) and polls < 50:
        poller.poll()
        polls += 1
        deployed.clock.advance(timedelta(minutes=15))

    jobs = [deployed.job(each) for each in job_ids]
    assert [job.status for job in jobs].count(JobStatus.COMPLETED) == JOBS - 1
    assert jobs[POISON].status is JobStatus.DEAD_LETTER
    assert len(list(deployed.operator.dead_letters())) == 1
    # Nine batches went well, one died; its ten jobs ran alone, and only the poison died again.
    assert sorted(processes.ends) == sorted([(10, 0)] * 9 + [(10, DIED)] + [(1, 0)] * 9 + [(1, DIED)] * 2)
