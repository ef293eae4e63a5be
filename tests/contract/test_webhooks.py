"""A run's end notes that a delivery is owed, and a poller makes it: told exactly once, and never in the job's way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import Cancel, JobStatus, JobType, NewJob, NonRetryableError, Outcome, Registry, Skip, Snooze
from leasehold.kernel.errors import InvalidJobTypeError, StoreError, WrongStateError
from leasehold.kernel.keys import SYSTEM_CODE, key_of, partition_of
from leasehold.kernel.type_options import DELIVERY, OnFull
from leasehold.operate.purge import purge
from leasehold.telemetry import Event
from leasehold.webhooks.address import RunEvent, Webhook, WebhooksOffError
from leasehold.webhooks.deliveries import DeliveryState
from leasehold.webhooks.model import delivery_type
from tests.contract.large import items_of
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from tests.contract.world import World

URL = "https://hooks.example.com/jobs"


def enqueue(world: World, job_type: str = "report", **options: Any) -> str:
    return world.queue.enqueue(job_type, {"n": 1}, **{"webhook": URL, **options}).job_id


def told(world: World) -> list[tuple[str, dict[str, Any]]]:
    """What was told, after all that is due was done."""
    world.work()
    return [(each.event["type"], each.event["data"]) for each in world.told]


def test_a_completed_run_is_told_with_its_result(world: World) -> None:
    job_id = enqueue(world, trace="t-1")
    world.script.then({"sum": 7})
    assert world.work() == ["completed"]

    ((event, run),) = told(world)

    assert event == "job.run.completed"
    started_at = world.job(job_id).runs[0].started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert run == {
        "job_id": job_id,
        "job_type": "report",
        "job_status": "COMPLETED",
        "priority": 1,
        "run_id": f"{job_id}.1",
        "attempt": 1,
        "status": "COMPLETED",
        "started_at": started_at,
        "ended_at": started_at,
        "result": {"sum": 7},
        "trace": "t-1",
    }
    assert world.told[0].url == URL


def test_each_run_is_told_also_one_that_is_tried_again(world: World) -> None:
    job_id = enqueue(world)
    world.script.then(RuntimeError("the printer\nis on fire"), {"ok": True})

    world.work_until_ended(job_id)

    (first, failed), (second, completed) = told(world)
    assert (first, second) == ("job.run.failed", "job.run.completed")
    assert (failed["status"], failed["job_status"], failed["error"]) == ("FAILED", "QUEUED", "is on fire")
    assert failed["error_code"] == "RuntimeError"
    assert failed["next_attempt_at"] > failed["ended_at"]
    assert (completed["attempt"], completed["job_status"]) == (2, "COMPLETED")


def test_the_last_run_of_a_job_is_told_as_failed_and_its_dead_letter_besides(world: World) -> None:
    job_id = enqueue(world)
    world.script.then(NonRetryableError("broken"))
    assert world.work() == ["dead_letter"]

    told_of = told(world)

    assert sorted(event for event, _ in told_of) == ["job.run.dead_lettered", "job.run.failed"]
    for _, run in told_of:
        assert (run["run_id"], run["status"], run["job_status"]) == (f"{job_id}.1", "FAILED", "FAILED")
    assert world.operator.dead_letter(job_id).is_open
    listed = world.queue.webhooks.deliveries(job_id)
    assert [each.event for each in listed] == ["job.run.failed", "job.run.dead_lettered"]


@pytest.mark.parametrize(
    ("step", "status"), [(Skip("nothing to do"), "COMPLETED"), (Cancel("no longer wanted"), "CANCELLED")]
)
def test_a_run_that_did_nothing_is_told_as_skipped_with_its_reason(
    world: World, step: BaseException, status: str
) -> None:
    enqueue(world)
    world.script.then(step)
    world.work()

    ((event, run),) = told(world)

    assert event == "job.run.skipped"
    assert (run["status"], run["job_status"], run["reason"]) == ("SKIPPED", status, str(step))


def test_a_run_that_fails_after_a_cancel_was_requested_is_told_as_failed(world: World) -> None:
    job_id = enqueue(world)

    def fail_when_cancelled(_context: object) -> None:
        world.queue.cancel(job_id, reason="stop it")
        raise RuntimeError("stopped")

    world.script.then(fail_when_cancelled)
    assert world.work() == ["cancelled"]

    ((event, run),) = told(world)

    assert (event, run["job_status"]) == ("job.run.failed", "CANCELLED")


def test_a_job_that_its_full_limit_turned_away_is_told_as_skipped(world: World) -> None:
    world.deploy(JobType(name="limited", concurrency=1, on_full=OnFull.SKIP))
    enqueue(world, "limited", webhook=None)
    world.claim()
    second = enqueue(world, "limited")

    ((event, run),) = (world.poll(), told(world))[1]

    assert (event, run["job_id"], run["status"]) == ("job.run.skipped", second, "SKIPPED")


@pytest.mark.parametrize(
    ("job_type", "events"),
    [("report", {"job.run.failed"}), ("once", {"job.run.failed", "job.run.dead_lettered"})],
)
def test_a_run_whose_worker_was_lost_is_told_by_whoever_finds_it(world: World, job_type: str, events: set[str]) -> None:
    job_id = enqueue(world, job_type)
    handover = world.claim_one()
    world.script.then(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.worker.run(handover)
    world.let_lease_expire(job_id)
    world.poll()

    told_of = told(world)

    assert {event for event, _ in told_of} == events
    assert {run["error_code"] for _, run in told_of} == {"worker_lost"}


def test_a_job_that_no_handler_was_ever_reached_for_is_told_without_a_run(world: World) -> None:
    job_id = enqueue(world)
    world.dispatches.failure = "no such function"
    while not world.job(job_id).has_ended:
        world.poll()
        world.clock.advance(timedelta(hours=2))
    world.dispatches.failure = None

    ((event, run),) = told(world)

    assert event == "job.run.dead_lettered"
    assert "run_id" not in run
    assert run["error_code"] == "undeliverable"
    (delivery,) = world.queue.webhooks.deliveries(job_id)
    assert (delivery.run_id, delivery.state) == (None, DeliveryState.DELIVERED)


def test_what_is_no_end_of_a_run_is_told_to_nobody(world: World) -> None:
    snoozed, cancelled = enqueue(world), enqueue(world)
    world.queue.cancel(cancelled, reason="not needed")
    world.script.then(Snooze(30))

    assert world.work() == ["snoozed"]
    assert world.work() == []
    assert world.job(snoozed).status is JobStatus.PENDING
    assert world.told == []


def test_a_delivery_is_told_to_nobody(world: World) -> None:
    enqueue(world)
    world.work()
    assert world.work() == ["completed"]

    assert world.work() == []
    assert len(world.told) == 1


def test_the_address_of_the_type_serves_jobs_that_bring_none(world: World) -> None:
    webhook = Webhook(url="https://types.example.com")
    world.deploy(*(replace(each, webhook=webhook) for each in TYPES))
    enqueue(world, webhook=None)
    enqueue(world)
    world.work()
    world.work()

    assert sorted(each.url for each in world.told) == [URL, "https://types.example.com"]


def test_the_address_of_a_job_wins_over_its_templates_and_that_over_its_types(world: World) -> None:
    world.deploy(JobType(name="report", webhook=Webhook(url="https://types.example.com")))
    world.queue.templates.create("nightly", "report", {}, webhook="https://templates.example.com")
    for own in (None, URL):
        world.queue.enqueue(template="nightly", webhook=own)
    world.work()
    world.work()

    assert sorted(each.url for each in world.told) == [URL, "https://templates.example.com"]


def test_the_type_says_which_events_are_told(world: World) -> None:
    only_ends = Webhook(events=(RunEvent.COMPLETED, RunEvent.DEAD_LETTERED))
    world.deploy(*(replace(each, webhook=only_ends) for each in TYPES))
    job_id = enqueue(world)
    world.script.then(RuntimeError("not yet"))

    world.work_until_ended(job_id)

    assert [event for event, _ in told(world)] == ["job.run.completed"]


def test_a_receiver_is_told_also_of_what_ended_before_a_halt(world: World) -> None:
    enqueue(world)
    world.work()
    world.operator.halt(reason="bad deploy")
    world.clock.advance(timedelta(minutes=1))
    assert world.work() == []
    world.operator.resume()

    assert [event for event, _ in told(world)] == ["job.run.completed"]


def test_an_address_is_refused_where_nobody_would_tell_it(world: World) -> None:
    world.deploy(*TYPES, with_webhooks=False)

    with pytest.raises(WebhooksOffError, match="no webhooks are deployed here"):
        enqueue(world)
    with pytest.raises(WebhooksOffError):
        world.queue.templates.create("nightly", "report", {}, webhook=URL)


def test_a_job_ends_as_ever_when_webhooks_were_switched_off_meanwhile(world: World) -> None:
    job_id = enqueue(world)
    world.deploy(*TYPES, with_webhooks=False)

    assert world.work() == ["completed"]
    world.work()

    assert world.job(job_id).runs[0].outcome is Outcome.COMPLETED
    assert [each["job_id"] for each in world.recorder.of(Event.WEBHOOK_DROPPED)] == [job_id]
    assert world.work() == []
    again = world.queue.retry(job_id, reason="once more")
    assert world.job(again.job_id).webhook == URL


def test_the_end_of_a_run_writes_no_delivery_only_that_one_is_owed(world: World) -> None:
    first = enqueue(world)
    world.script.then({"ok": True}, RuntimeError("broken"))
    (handover,) = world.claim()
    second = enqueue(world)
    (other,) = world.claim()

    assert [world.worker.run(each) for each in (handover, other)] == ["completed", "failed"]

    assert world.queue.webhooks.deliveries(first) == world.queue.webhooks.deliveries(second) == []
    assert (world.job(first).owed, world.job(second).owed) == (("webhooks:1",), ("webhooks:1",))
    retry_at = world.job(second).due_at
    assert len(told(world)) == 2
    assert (world.job(first).owed, world.job(second).owed) == ((), ())
    # Its next run comes when it would have come anyway.
    assert retry_at == world.job(second).due_at
    assert retry_at is not None
    assert retry_at > world.clock.now()


def test_a_failed_run_is_told_also_of_a_job_that_is_cancelled_before_that(world: World) -> None:
    job_id = enqueue(world)
    world.script.then(RuntimeError("broken"))
    assert world.work() == ["failed"]

    world.queue.cancel(job_id, reason="enough")

    ((event, run),) = told(world)
    assert (event, run["job_status"]) == ("job.run.failed", "CANCELLED")


def test_a_failed_run_that_could_not_be_told_keeps_its_job_from_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = enqueue(world)
    world.script.then(RuntimeError("broken"), {"ok": True})
    assert world.work() == ["failed"]
    with monkeypatch.context() as patch:
        patch.setattr("leasehold.webhooks.deliver.delivery", _broken)
        world.work()
    assert [each["job_id"] for each in world.recorder.of(Event.SETTLE_FAILED)] == [job_id]

    world.work_until_ended(job_id)

    assert [event for event, _ in told(world)] == ["job.run.failed", "job.run.completed"]


def _broken(*_: object, **__: object) -> None:
    raise StoreError("no room")


def test_nobody_edits_a_delivery(world: World) -> None:
    job_id = enqueue(world)
    world.operator.pause(DELIVERY, reason="to look at it")
    world.work()
    world.work()
    (delivery,) = world.queue.webhooks.deliveries(job_id)

    with pytest.raises(WrongStateError, match="which the system alone makes"):
        world.queue.edit(delivery.delivery_id, payload={"id": "1", "url": URL, "body": "{}"}, reason="forged")


def test_users_cannot_make_deliveries(world: World) -> None:
    with pytest.raises(InvalidJobTypeError, match="the system's own"):
        world.queue.enqueue(DELIVERY, {"id": "1", "url": URL, "body": "{}"})
    with pytest.raises(InvalidJobTypeError, match="the system's own"):
        world.queue.enqueue(DELIVERY, {}, retry_of=enqueue(world))


def test_an_operator_can_hold_deliveries_back_and_have_one_sent_again(world: World) -> None:
    job_id = enqueue(world)
    world.operator.pause(DELIVERY, reason="the receiver moves")
    world.work()
    assert world.work() == []
    world.operator.unpause(DELIVERY)
    world.work()
    (delivery,) = world.queue.webhooks.deliveries(job_id)

    again = world.queue.retry(delivery.delivery_id, reason="they lost it")

    assert world.work() == ["completed"]
    assert partition_of(again.job_id).code == SYSTEM_CODE
    assert world.told[0] == world.told[1]


def test_members_that_their_group_skips_are_told_as_skipped_and_counted_all_the_same(world: World) -> None:
    members = [NewJob(job="report", webhook=URL if n else None) for n in range(4)]
    world.queue.groups.create(members, group_id="import", on_failure="skip_remaining")
    world.script.then(NonRetryableError("broken"))
    for _ in range(8):
        world.work()

    group = world.queue.groups.get("import")

    assert (group.state, group.failed, group.skipped) == ("failed", 1, 3)
    assert [event for event, _ in told(world)] == ["job.run.skipped"] * 3


def test_deliveries_wait_in_the_lanes_of_the_first_shard_however_many_there_are(world: World) -> None:
    world.operator.publish(Registry(types={**world.types, DELIVERY: delivery_type()}, shards=3))
    made = [enqueue(world) for _ in range(6)]
    for _ in range(4):
        world.clock.advance(timedelta(seconds=6))
        world.work()

    assert {world.job(job_id).status for job_id in made} == {JobStatus.COMPLETED}
    assert len(world.told) == 6
    (delivery,) = world.queue.webhooks.deliveries(made[0])
    assert key_of(delivery.delivery_id).pk == "system#0"


@pytest.mark.parametrize("step", [RuntimeError("no user ada@example.com"), Skip("knows ada@example.com already")])
def test_a_receiver_and_the_log_are_not_told_values_of_the_payload(world: World, step: BaseException) -> None:
    world.queue.enqueue("report", {"n": 1, "to": {"ada@example.com": "x" * 600}}, webhook=URL)
    world.script.then(step)
    world.work()

    ((_, run),) = told(world)

    assert "[payload.to]" in (run.get("error") or run["reason"])
    assert "ada@example.com" not in str([each.fields for each in world.recorder.events])


def test_a_dead_letter_is_alerted_without_values_of_the_payload(world: World) -> None:
    world.queue.enqueue("report", {"n": 1, "email": "ada@example.com"})
    world.script.then(NonRetryableError("no user ada@example.com"))
    assert world.work() == ["dead_letter"]

    (alert,) = world.recorder.of(Event.JOB_DEAD_LETTERED)
    assert "no user [payload.email]" in str(alert["failure_reason"])
    assert "ada@example.com" not in str([each.fields for each in world.recorder.events])


def test_a_purge_forgets_what_receivers_were_told(world: World) -> None:
    job_id = enqueue(world)
    world.script.then(RuntimeError("the card of Ada was refused"), {"iban": "DE02120300000000202051", "x": "y" * 999})
    world.work_until_ended(job_id)
    with pytest.raises(WrongStateError, match="A receiver is still to be told of it"):
        purge(job_id, world.services, reason="asked to be forgotten")
    assert len(told(world)) == 2
    deliveries = [each.delivery_id for each in world.queue.webhooks.deliveries(job_id)]

    purge(job_id, world.services, reason="asked to be forgotten")

    assert len(deliveries) == 2
    for each in deliveries:
        assert world.job(each).payload == {"$purged": True}
        assert items_of(world, each) == []
    assert world.queue.webhooks.deliveries(job_id) == []


def test_a_slow_host_is_told_a_few_at_a_time_and_keeps_no_other_from_being_told(world: World) -> None:
    world.operator.publish(Registry(types={**world.types, DELIVERY: delivery_type(per_host=2)}))
    for url in (*[URL] * 5, "https://other.example.com/hooks"):
        enqueue(world, webhook=url)
    world.work()

    handed_over = world.claim()

    hosts = [world.job(each.job_id).concurrency_key for each in handed_over]
    assert sorted(map(str, hosts)) == ["hooks.example.com", "hooks.example.com", "other.example.com"]
    for each in handed_over:
        world.worker.run(each)
    while world.work():
        pass
    assert len(world.told) == 6
