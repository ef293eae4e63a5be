"""A delivery from its job to a real receiver: signed, tried again, given up, and never a dead letter."""

from __future__ import annotations

import json
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from standardwebhooks import Webhook

from leasehold import BaseJobHandler, JobStatus
from leasehold.kernel import keys
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.ports import SystemClock
from leasehold.kernel.table import Update
from leasehold.kernel.type_options import DELIVERY
from leasehold.runtime.webhook_sender import Equipment, webhook_sender
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest
from leasehold.webhooks import new_key, verify
from leasehold.webhooks.deliveries import DeliveryState
from leasehold.webhooks.outbound import Outbound
from leasehold.webhooks.standard import SigningKeys
from tests.handlers import handler_that
from tests.webhook_receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.webhook_receiver import Receiver

KEY = new_key()
Good = handler_that(lambda _context: {"sum": 7})


@pytest.fixture
def receiver(tmp_path: Any) -> Iterator[Receiver]:
    with receiving(tmp_path) as opened:
        yield opened


def queue_with(receiver: Receiver, keys: Callable[[], SigningKeys | None] | None = None) -> LeaseholdTest:
    """A queue in memory whose sender reaches this receiver."""
    outbound = Outbound(
        ports=(receiver.port,),
        resolve=lambda _host, _port: ["127.0.0.1"],
        refusal=lambda _: None,
        tls=ssl.create_default_context(cafile=str(receiver.authority)),
    )
    equipment = Equipment(keys=keys or (lambda: SigningKeys.parse("test", KEY)), outbound=outbound)
    test = LeaseholdTest({"good": Good})
    test.register(DELIVERY, webhook_sender(lambda: equipment))
    return test


def run(test: LeaseholdTest, url: str) -> Any:
    """Run a job that is told of, and all of its delivery; the delivery, as the log has it."""
    job_id = test.queue.enqueue("good", {}, webhook=url).job_id
    test.drain(until_idle=True)
    (delivery,) = test.queue.webhooks.deliveries(job_id)
    return delivery


def test_a_receiver_gets_a_message_that_the_public_library_verifies(receiver: Receiver) -> None:
    test = queue_with(receiver)

    delivery = run(test, receiver.url)

    (request,) = receiver.requests
    event = verify(request.body, request.headers, KEY, now=test.clock.now())
    assert (event["type"], event["data"]["run_id"]) == ("job.run.completed", delivery.run_id)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == delivery.message_id == delivery.delivery_id
    assert "." not in delivery.message_id
    theirs = Webhook(KEY).sign(delivery.message_id, test.clock.now(), request.body.decode())
    assert request.headers["webhook-signature"] == theirs
    assert (delivery.state, [each.code for each in delivery.tries]) == (DeliveryState.DELIVERED, ["http_204"])


def test_a_receiver_with_the_right_time_verifies_by_the_public_library_alone(receiver: Receiver) -> None:
    test = queue_with(receiver)
    test.clock.move_to(SystemClock().now())

    run(test, receiver.url)

    (request,) = receiver.requests
    assert Webhook(KEY).verify(request.body, request.headers)["type"] == "job.run.completed"


def test_a_message_that_is_not_taken_is_sent_again_after_5_and_15_and_45_seconds(receiver: Receiver) -> None:
    receiver.answers = [500, 503, 302, 200]
    test = queue_with(receiver)

    delivery = run(test, receiver.url)

    assert [each.code for each in delivery.tries] == ["http_500", "http_503", "http_302", "http_200"]
    waits = [after.at - before.at for before, after in zip(delivery.tries, delivery.tries[1:], strict=False)]
    assert waits == [timedelta(seconds=each) for each in (5, 15, 45)]
    assert delivery.state is DeliveryState.DELIVERED
    assert len({(each.headers["webhook-id"], each.body) for each in receiver.requests}) == 1
    assert len({each.headers["webhook-timestamp"] for each in receiver.requests}) == 4


def test_after_three_retries_it_is_given_up_without_a_dead_letter(receiver: Receiver) -> None:
    receiver.answers = [500]
    test = queue_with(receiver)

    delivery = run(test, receiver.url)

    assert len(receiver.requests) == 4
    assert (delivery.state, [each.code for each in delivery.tries]) == (DeliveryState.FAILED, ["http_500"] * 4)
    assert delivery.tries[-1].error == f"{receiver.url} answered with 500, not with 2xx"
    job = test.queue.get(delivery.delivery_id)
    assert (job.status, job.last_error_code) == (JobStatus.CANCELLED, "http_500")
    assert list(test.operator.dead_letters()) == []
    assert test.telemetry.of(Event.JOB_DEAD_LETTERED) == []
    assert test.queue.webhooks.failed() == [delivery]


def test_a_receiver_that_is_gone_is_not_told_again(receiver: Receiver) -> None:
    receiver.answers = [410]

    delivery = run(queue_with(receiver), receiver.url)

    assert (delivery.state, [each.code for each in delivery.tries]) == (DeliveryState.FAILED, ["http_410"])


@pytest.mark.parametrize("url", ["https://169.254.169.254/latest", "https://hooks.example.com:8443/", "https://127.1/"])
def test_an_address_that_may_not_be_called_is_given_up_at_once(receiver: Receiver, url: str) -> None:
    test = LeaseholdTest({"good": Good})
    test.register(DELIVERY, webhook_sender(lambda: Equipment(keys=lambda: SigningKeys.parse("test", KEY))))

    delivery = run(test, url)

    assert (delivery.state, [each.code for each in delivery.tries]) == (DeliveryState.FAILED, ["refused_address"])
    assert list(test.operator.dead_letters()) == []


def _unreadable() -> SigningKeys | None:
    raise InvalidOptionError("/leasehold/keys", "the webhook keys cannot be read", "Allow it.")


@pytest.mark.parametrize("keys", [lambda: None, lambda: SigningKeys({}), _unreadable])
def test_nothing_is_sent_unsigned(receiver: Receiver, keys: Callable[[], SigningKeys | None]) -> None:
    test = queue_with(receiver, keys)

    delivery = run(test, receiver.url)

    assert receiver.requests == []
    assert [each.code for each in delivery.tries] == ["not_signed"] * 4
    assert list(test.operator.dead_letters()) == []


def test_one_that_was_given_up_can_be_sent_again_under_the_same_id(receiver: Receiver) -> None:
    receiver.answers = [410, 200]
    test = queue_with(receiver)
    failed = run(test, receiver.url)

    again = test.queue.retry(failed.delivery_id, reason="they are back")
    test.drain()

    assert test.queue.get(again.job_id).status is JobStatus.COMPLETED
    first, second = (each.headers["webhook-id"] for each in receiver.requests)
    assert first == second == failed.message_id


def test_what_a_test_of_a_user_s_sees_of_webhooks_is_what_would_be_told() -> None:
    test = LeaseholdTest({"good": Good})
    job_id = test.queue.enqueue("good", {}, webhook="https://hooks.example.com").job_id
    test.drain()

    (told,) = test.told

    assert (told.url, told.event["data"]["job_id"]) == ("https://hooks.example.com", job_id)
    assert json.dumps(told.event)


def test_the_sender_runs_deliveries_only() -> None:
    handler = webhook_sender(lambda: Equipment(keys=lambda: None))

    assert issubclass(handler, BaseJobHandler)
    assert handler.job_type == DELIVERY


def forgeries(body: dict[str, Any]) -> list[object]:
    data = body["data"]
    return [
        {**body, "type": "account.closed"},
        {**body, "timestamp": "2026-11-15T10:00:00.000Z"},
        {**body, "data": {**data, "run_id": f"{data['job_id']}.2"}},
        {**body, "data": {**data, "job_id": data["job_id"][:-1] + ("0" if data["job_id"][-1] != "0" else "1")}},
        {**body, "more": 1},
        {"transfer": "all of it"},
        [],
        None,
    ]


@pytest.mark.parametrize("number", range(8))
def test_what_is_not_told_as_the_system_tells_it_is_neither_signed_nor_sent(receiver: Receiver, number: int) -> None:
    test = queue_with(receiver)
    test.operator.pause(DELIVERY, reason="so that somebody can write into it")
    job_id = test.queue.enqueue("good", {}, webhook=receiver.url).job_id
    test.drain(until_idle=True)
    (owed,) = test.queue.webhooks.deliveries(job_id)
    delivery = test.queue.get(owed.delivery_id)
    message: Any = delivery.payload
    forged = {**message, "body": json.dumps(forgeries(json.loads(message["body"]))[number])}
    store = test.queue.services.store
    key = keys.job(delivery.job_id)
    store.table.write(Update(key=key, sets={"payload": json.dumps(forged)}, conditions=()))
    test.operator.unpause(DELIVERY)

    test.drain(until_idle=True)

    assert receiver.requests == []
    ended = test.queue.get(owed.delivery_id)
    assert (ended.status, ended.last_error_code) == (JobStatus.CANCELLED, "not_ours")
