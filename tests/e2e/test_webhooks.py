"""Webhooks on the deployed stack: a receiver on this machine is told of each run, and knows by whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from standardwebhooks import Webhook

from leasehold.aws import names as variables
from leasehold.aws.handovers import handover_of
from leasehold.kernel.job import Job
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import JobPartition, Priority, make_job_id, run_lane, scheduled_for_of, to_text, type_code
from leasehold.kernel.payload import encode_payload
from leasehold.kernel.transitions import JobStatus
from leasehold.webhooks import new_key
from leasehold.webhooks.deliveries import DeliveryState
from leasehold.webhooks.model import delivery_id
from tests.e2e.test_sample_events import asleep, invoke, sample_of
from tests.local_stack import LOCAL_AWS, eventually
from tests.webhook_receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.local_stack import LocalStack
    from tests.webhook_receiver import Receiver

pytestmark = LOCAL_AWS
SENDER = "webhook-sender"
KEY = new_key()


@pytest.fixture
def receiver(local_stack: LocalStack, tmp_path: Any) -> Iterator[Receiver]:
    """It listens on this machine, which only the local stage's sender can be made to call, and only by a test."""
    functions = local_stack.client("lambda")
    told = functions.get_function_configuration(FunctionName=local_stack.real_name(SENDER))["Environment"]["Variables"]
    with receiving(tmp_path, host="localhost") as opened:
        trusting = {**told, variables.WEBHOOK_LOOPBACK_AUTHORITY: str(opened.authority)}
        functions.update_function_configuration(
            FunctionName=local_stack.real_name(SENDER), Environment={"Variables": trusting}
        )
        local_stack.client("ssm").put_parameter(
            Name="/leasehold/local/webhook-keys", Value=KEY, Type="SecureString", Overwrite=True
        )
        try:
            yield opened
        finally:
            functions.update_function_configuration(
                FunctionName=local_stack.real_name(SENDER), Environment={"Variables": told}
            )


def test_a_receiver_is_told_of_a_failed_and_of_a_completed_run(local_stack: LocalStack, receiver: Receiver):
    url = f"https://127.0.0.1:{receiver.port}/hooks"
    receiver.answers = [500, 204]

    job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 1}, webhook=url).job_id)

    def both_delivered() -> bool:
        deliveries = local_stack.queue.webhooks.deliveries(job.job_id)
        return [each.state for each in deliveries] == [DeliveryState.DELIVERED] * 2

    assert eventually(both_delivered), local_stack.queue.webhooks.deliveries(job.job_id)
    events = [Webhook(KEY).verify(each.body, each.headers) for each in receiver.requests]
    told = {(each["type"], each["data"]["run_id"]) for each in events}
    assert told == {("job.run.failed", f"{job.job_id}.1"), ("job.run.completed", f"{job.job_id}.2")}
    # Which of the two was sent first is not promised: one of them met the failure, and was sent again.
    deliveries = local_stack.queue.webhooks.deliveries(job.job_id)
    tries = sorted([each.code for each in delivery.tries] for delivery in deliveries)
    assert tries == [["http_204"], ["http_500", "http_204"]]


def test_the_sample_hand_over_sends_its_delivery(local_stack: LocalStack, receiver: Receiver):
    """The delivery that it names, claimed as it says."""
    handover = handover_of(sample_of(local_stack, "webhook_sender"))
    services = local_stack.queue.services
    at = scheduled_for_of(handover.job_id)
    about = make_job_id(at, JobPartition(type_code("limited")), 7)
    body = {"type": "job.run.completed", "timestamp": to_text(at), "data": {"job_id": about, "job_type": "limited"}}
    told = {
        # As of a delivery that an operator has sent again: the message keeps its id.
        "id": delivery_id(about, None, at),
        "url": f"https://127.0.0.1:{receiver.port}/hooks",
        "body": json.dumps(body),
    }
    claimed = Job(
        job_id=handover.job_id,
        job_type=handover.job_type,
        stored_payload=encode_payload(told),
        scheduled_for=at,
        status=JobStatus.IN_PROGRESS,
        priority=Priority.NORMAL,
        max_attempts=10,
        created_at=at,
        due=handover.lease,
        due_lane=run_lane(Priority.NORMAL, 0),
        locked_by=handover.token,
        locked_at=at,
        lock_expires_at=handover.lease.at,
    )
    with asleep(local_stack):
        assert services.store.table.write(insertion(claimed))
        answer = invoke(local_stack, "webhook-sender", "events/webhook_sender.json")

    assert answer == {"job_id": handover.job_id, "execution": "completed"}
    assert [each.body for each in receiver.requests] == [told["body"].encode()]


def test_without_that_the_sender_does_not_call_this_machine(local_stack: LocalStack):
    local_stack.client("ssm").put_parameter(
        Name="/leasehold/local/webhook-keys", Value=KEY, Type="SecureString", Overwrite=True
    )

    job = local_stack.wait(local_stack.queue.enqueue("limited", {"seconds": 0}, webhook="https://127.0.0.1/").job_id)

    def delivery() -> Any:
        found = local_stack.queue.webhooks.deliveries(job.job_id)  # none until a poller has made it
        return found[0] if found and found[0].state is not DeliveryState.WAITING else None

    given_up = eventually(delivery)
    assert (given_up.state, [each.code for each in given_up.tries]) == (DeliveryState.FAILED, ["refused_address"])
