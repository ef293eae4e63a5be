"""Eight pollers and eight handlers on one parallel group: every end is counted once, and one callback is made."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, NewJob
from leasehold.groups.model import GroupState
from leasehold.kernel.poll import Poller
from tests.concurrency.crew import Crew
from tests.concurrency.race import at_once
from tests.meter import Meter
from tests.real_queue import RealQueue
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

MEMBERS = 300
POLLERS = 8
CALLBACK = -1
PATIENCE_SECONDS = 100.0

pytestmark = [pytest.mark.deep, pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(180)]


def test_eight_pollers_count_a_parallel_group_exactly_and_call_back_once(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client = make_client(dynoxide_endpoint)
    deployed = RealQueue(client, [JobType(name="count")])
    crew = Crew(deployed, expected=MEMBERS + 1)
    members = [NewJob(job="count", payload={"n": n}) for n in range(MEMBERS)]
    callback = NewJob(job="count", payload={"n": CALLBACK})
    deployed.queue.groups.create(members, mode="parallel", callback=callback, group_id="import")
    pollers = [Poller(deployed.process(), crew, worker_id=f"poller-{n}") for n in range(POLLERS)]
    meter = Meter(client)
    give_up_at = time.monotonic() + PATIENCE_SECONDS

    def poll_until_all_ended(poller: Poller) -> int:
        settled = 0
        while not crew.all_ended.is_set() and time.monotonic() < give_up_at:
            settled += poller.poll().settled
            deployed.clock.advance(timedelta(milliseconds=10))
        return settled

    settled = at_once([partial(poll_until_all_ended, poller) for poller in pollers])

    crew.close()
    refused = meter.take().refusals["TransactWriteItems"]
    print(f"\n{MEMBERS} members counted by {sorted(settled)}, {refused} refused transactions")
    assert crew.handled == dict.fromkeys([*range(MEMBERS), CALLBACK], 1)
    group = deployed.queue.groups.get("import")
    assert (group.state, group.completed, group.left) == (GroupState.COMPLETED, MEMBERS, 0)
    # Each end was counted by exactly one of them.
    assert sum(settled) == MEMBERS
    stored = stored_jobs(deployed.services)
    assert Counter(job.status for job in stored) == {JobStatus.COMPLETED: MEMBERS + 1}
    assert [job.job_id for job in stored if job.group_id is None] == [group.callback_job_id]
