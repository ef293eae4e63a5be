"""A handler that kills its process every time: each death is a run, and the last one a dead letter."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, Outcome
from leasehold.aws.handovers import handover_event
from leasehold.kernel.poll import Poller
from tests.concurrency.dying_worker import DEATHS
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.ports import Handover

ROOT = Path(__file__).parent.parent.parent
MAX_ATTEMPTS = 3


class ProcessPerHandover:
    """Gives each hand-over a process, as Lambda does, and notes how each process ended."""

    def __init__(self, deployed: RealQueue, endpoint: str) -> None:
        self.ends: list[int] = []
        self._deployed = deployed
        self._endpoint = endpoint

    def dispatch(self, handover: Handover, function: str | None) -> None:
        order = {
            "endpoint": self._endpoint,
            "jobs": self._deployed.names.jobs,
            "dead_letters": self._deployed.names.dead_letters,
            "now": self._deployed.clock.now().isoformat(),
            "handover": handover_event(handover),
        }
        process = subprocess.run(
            [sys.executable, "-m", "tests.concurrency.dying_worker"],
            input=json.dumps(order),
            text=True,
            cwd=ROOT,
            timeout=50,
            check=False,
            capture_output=True,
        )
        assert "Traceback" not in process.stderr, process.stderr
        self.ends.append(process.returncode)


@pytest.mark.dynoxide
@pytest.mark.slow
def test_a_handler_that_kills_its_process_every_time_is_a_dead_letter_after_max_attempts_runs(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    deployed = RealQueue(make_client(dynoxide_endpoint), [JobType(name="deadly", max_attempts=MAX_ATTEMPTS)])
    job_id = deployed.queue.enqueue("deadly", {}).job_id
    processes = ProcessPerHandover(deployed, dynoxide_endpoint)
    poller = Poller(deployed.process(), processes, worker_id="poller")

    polls = 0
    while not deployed.job(job_id).has_ended and polls < 50:
        poller.poll()
        polls += 1
        deployed.clock.advance(timedelta(minutes=1))

    assert processes.ends == list(DEATHS)
    job = deployed.job(job_id)
    assert (job.status, job.attempts, len(job.runs)) == (JobStatus.DEAD_LETTER, MAX_ATTEMPTS, MAX_ATTEMPTS)
    assert [(run.outcome, run.error_code) for run in job.runs] == [(Outcome.FAILED, "worker_lost")] * MAX_ATTEMPTS
    assert all(run.worker.startswith("dying.") for run in job.runs)
    [dead_letter] = deployed.operator.dead_letters()
    assert (dead_letter.id, dead_letter.attempts, dead_letter.runs) == (job_id, MAX_ATTEMPTS, job.runs)

    # Dead is dead: more polls change nothing.
    before = deployed.item(job_id)
    deployed.clock.advance(timedelta(days=2))
    poller.poll()
    assert deployed.item(job_id) == before
    assert len(processes.ends) == MAX_ATTEMPTS
