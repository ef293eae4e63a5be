"""Ten thousand members: made in order before any runs, stopped and counted exactly, run to the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, NewJob, NonRetryableError, Worker
from leasehold.groups.model import GroupState
from leasehold.kernel.keys import Priority
from leasehold.kernel.poll import Poller
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

MEMBERS = 10_000

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(300)]


def jobs() -> list[NewJob]:
    return [NewJob(job="step", payload={"n": n}) for n in range(MEMBERS)]


@pytest.mark.dynoxide
def test_a_group_of_ten_thousand_stops_when_its_first_member_fails_and_counts_every_end(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client = make_client(dynoxide_endpoint)
    deployed = RealQueue(client, [JobType(name="step"), JobType(name="tell")])
    meter = Meter(client)
    started = time.monotonic()

    made = deployed.queue.groups.create(jobs(), group_id="import", callback=NewJob(job="tell"))

    creation = meter.take()
    assert made.group.made == MEMBERS
    print(f"\nmade in {creation.writes} writes, {creation.write_units / MEMBERS:.2f} units each")

    inbox = Inbox()
    Poller(deployed.process(), inbox, worker_id="poller").poll()
    (first,) = inbox.handovers
    assert deployed.job(first.job_id).member == 0

    def fail(_context: object) -> None:
        raise NonRetryableError("broken")

    Worker(deployed.process(), {"step": handler_that(fail)}, worker_id="handler", limit_time=False).run(first)
    meter.take()
    Poller(deployed.process(), inbox, worker_id="poller").poll()

    sweep = meter.take()
    print(f"swept in {sweep.writes} writes, {sweep.write_units / MEMBERS:.2f} units each")
    print(f"{time.monotonic() - started:.0f} s")
    group = deployed.queue.groups.get("import")
    assert (group.state, group.failed, group.cancelled, group.left) == (GroupState.FAILED, 1, MEMBERS - 1, 0)
    last = deployed.queue.groups.members("import", start=MEMBERS - 1000, limit=1000).jobs
    assert {job.status for job in last} == {JobStatus.CANCELLED}
    assert [deployed.job(each.job_id).job_type for each in inbox.handovers[1:]] == ["tell"]


def test_a_parallel_group_of_ten_thousand_runs_every_member_once_and_calls_back_once() -> None:
    ran: list[int] = []
    told: list[object] = []
    test = LeaseholdTest()
    test.register("step", handler_that(lambda context: ran.append(test.queue.get(context.job_id).member or 0)))
    test.register("tell", handler_that(lambda context: told.append(test.queue.get(context.job_id).payload)))

    group_id = test.queue.groups.create(
        jobs(), mode="parallel", callback=NewJob(job="tell", priority=Priority.LOW)
    ).group_id
    test.drain(at_most=2 * MEMBERS)

    group = test.queue.groups.get(group_id)
    assert (group.state, group.completed, group.left) == (GroupState.COMPLETED, MEMBERS, 0)
    assert ran == list(range(MEMBERS))
    assert told == [{"group": group.progress}]
