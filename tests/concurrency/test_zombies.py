"""A worker that wakes after its job was taken from it has no say any more: nothing it writes changes anything."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext, JobStatus, JobType, Worker
from leasehold.kernel.end import Failure
from leasehold.kernel.errors import LeaseLostError
from leasehold.kernel.execute import Attempt, Execution, Executor
from leasehold.kernel.job import Outcome
from leasehold.kernel.poll import Poller
from leasehold.runtime.lease import extend
from leasehold.runtime.signals import abort, fail, snooze
from leasehold.telemetry import LEASES_LOST, Event
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.keys import JobId

pytestmark = pytest.mark.dynoxide

ORDERS = "zombie-orders"


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    client = make_client(dynoxide_endpoint)
    # Made once per server; a listing shows only the first hundred tables.
    with suppress(client.exceptions.ResourceInUseException):
        client.create_table(
            TableName=ORDERS,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
    return RealQueue(client, [JobType(name="work", max_attempts=3)])


def poll(deployed: RealQueue) -> Inbox:
    inbox = Inbox()
    Poller(deployed.process(), inbox, worker_id="poller").poll()
    return inbox


def begin(deployed: RealQueue, inbox: Inbox) -> Attempt:
    attempt = Executor(deployed.process(), worker_id="worker").begin(inbox.handovers[0])
    assert isinstance(attempt, Attempt)
    return attempt


def reap(deployed: RealQueue) -> None:
    deployed.clock.advance(timedelta(minutes=5))
    poll(deployed)


def claim_again(deployed: RealQueue) -> Inbox:
    reap(deployed)
    deployed.clock.advance(timedelta(minutes=5))
    return poll(deployed)


def start_again(deployed: RealQueue) -> Attempt:
    return begin(deployed, claim_again(deployed))


FATES = {
    "reaped": (reap, JobStatus.FAILED),
    "claimed by another": (claim_again, JobStatus.IN_PROGRESS),
    "started by another": (start_again, JobStatus.IN_PROGRESS),
    "completed by another": (lambda deployed: start_again(deployed).complete(None), JobStatus.COMPLETED),
    "cancelled while another runs it": (
        lambda deployed: deployed.queue.cancel(start_again(deployed).job.job_id, reason="no more"),
        JobStatus.IN_PROGRESS,
    ),
}

WRITES: dict[str, Callable[[Attempt], object]] = {
    "extend": extend,
    "complete": lambda zombie: zombie.complete('{"n":1}'),
    "skip": lambda zombie: zombie.complete(None, outcome=Outcome.SKIPPED, reason="nothing to do"),
    "fail": lambda zombie: fail(zombie, Failure(error="boom", code="Boom")),
    "fail for good": lambda zombie: fail(zombie, Failure(error="boom", code="Boom", is_retryable=False)),
    "snooze": lambda zombie: snooze(zombie, timedelta(seconds=1)),
    "abort": lambda zombie: abort(zombie, "enough"),
    "transact_complete": lambda zombie: JobContext(zombie).transact_complete([order(zombie.job.job_id)], {"n": 1}),
}


def order(job_id: JobId) -> dict[str, Any]:
    return {"Put": {"TableName": ORDERS, "Item": {"id": {"S": job_id}}}}


@pytest.mark.parametrize("fate", FATES)
def test_a_zombie_that_wakes_after_the_reap_changes_nothing(fate: str, deployed: RealQueue) -> None:
    job_id = deployed.queue.enqueue("work", {"n": 1}).job_id
    zombie = begin(deployed, poll(deployed))
    befall, status = FATES[fate]
    befall(deployed)
    before = deployed.item(job_id)
    assert before["status"]["S"] == status

    for write in WRITES.values():
        with pytest.raises(LeaseLostError):
            write(zombie)
        assert deployed.item(job_id) == before

    assert list(deployed.operator.dead_letters()) == []
    assert "Item" not in deployed.client.get_item(TableName=ORDERS, Key={"id": {"S": job_id}})


@pytest.mark.parametrize("write", ["extend", "complete", "fail", "snooze", "transact_complete"])
def test_the_same_writes_succeed_while_the_lease_is_theirs(write: str, deployed: RealQueue) -> None:
    job_id = deployed.queue.enqueue("work", {"n": 1}).job_id
    worker = begin(deployed, poll(deployed))
    before = deployed.item(job_id)

    WRITES[write](worker)

    assert deployed.item(job_id) != before


class Nothing(BaseModel):
    """No field at all."""


class Sleeper(BaseJobHandler):
    """Sleeps so long that it is reaped, and then returns as if nothing had happened."""

    deployed: RealQueue

    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Nothing

    def handle(self, payload: BaseModel) -> int:
        reap(self.deployed)
        return 1


def test_a_lost_lease_is_logged_and_counted_by_the_worker_that_lost_it(deployed: RealQueue) -> None:
    job_id = deployed.queue.enqueue("work", {}).job_id
    handlers = {"work": type("Sleeping", (Sleeper,), {"deployed": deployed})}
    worker = Worker(deployed.process(), handlers, worker_id="sleeper", limit_time=False)

    assert worker.run(poll(deployed).handovers[0]) is Execution.LEASE_LOST

    assert deployed.job(job_id).status is JobStatus.FAILED
    assert [lost["job_id"] for lost in deployed.telemetry.of(Event.LEASE_LOST)] == [job_id]
    assert deployed.telemetry.total(LEASES_LOST, job_type="work") == 1
