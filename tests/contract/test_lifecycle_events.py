"""Lifecycle events: what those who follow jobs from outside are told of each change, and of which they are not."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import Cancel, Snooze
from leasehold.aws.lifecycle_events import events_of, publish
from leasehold.kernel import keys
from leasehold.kernel.dynamodb.expressions import to_item

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.table import Record
    from tests.contract.world import RETRY_DELAY, World
else:
    from tests.contract.world import RETRY_DELAY


class Follower:
    """Sees a job's item before and after each step, as the table's stream shows it."""

    def __init__(self, world: World, job_id: str) -> None:
        self.world = world
        self.key = keys.job(job_id)  # type: ignore[arg-type]
        self.before: Record | None = None
        self.told: list[dict[str, Any]] = []
        self.names: list[str] = []

    def after(self, step: Callable[[], object] | None = None) -> list[str]:
        """The names of the events of one step."""
        if step is not None:
            step()
        now = self.world.table.get(self.key)
        assert now is not None
        change: dict[str, Any] = {"SequenceNumber": str(len(self.told)), "NewImage": to_item(now)}
        if self.before is not None:
            change["OldImage"] = to_item(self.before)
        told = events_of({"Records": [{"eventName": "MODIFY", "dynamodb": change}]})
        self.before = now
        self.told += [{"event_id": each.event_id, **each.detail} for each in told]
        self.names += [each.name for each in told]
        return [each.name for each in told]


def test_a_job_that_fails_once_tells_its_whole_life(world: World) -> None:
    world.script.then(RuntimeError("ada@example.com is unknown"))
    follower = Follower(world, world.queue.enqueue("report", {"n": 1, "email": "ada@example.com"}).job_id)
    assert follower.after() == ["job.enqueued"]

    handovers = []
    assert follower.after(lambda: handovers.extend(world.claim())) == [], "a claim is the queue's own business"
    assert follower.after(lambda: world.worker.run(handovers.pop())) == ["job.failed"]
    world.clock.advance(RETRY_DELAY)
    assert follower.after(lambda: handovers.extend(world.claim())) == []
    assert follower.after(lambda: world.worker.run(handovers.pop())) == ["job.completed"]

    failed, completed = follower.told[1:]
    assert (failed["previous_status"], failed["error_code"], failed["outcome"]) == (
        "in_progress",
        "RuntimeError",
        "FAILED",
    )
    assert failed["next_attempt_at"] > failed["scheduled_for"]
    assert (completed["attempts"], completed["run_id"]) == (2, f"{completed['job_id']}.2")
    assert "example.com" not in json.dumps(follower.told)
    assert len({each["event_id"] for each in follower.told}) == 3


def test_a_start_is_told_once_and_heartbeats_are_not(world: World) -> None:
    follower = Follower(world, world.queue.enqueue("report").job_id)
    follower.after()
    told: list[str] = []

    def look(context: Any) -> None:
        told.extend(follower.after())
        told.extend(follower.after(context.extend))

    world.script.then(look)
    follower.after(world.work)

    assert told == ["job.started"]
    assert follower.names == ["job.enqueued", "job.started", "job.completed"]


def test_snoozes_holds_and_moves_are_the_queues_own_business(world: World) -> None:
    world.script.then(Snooze(60))
    job_id = world.queue.enqueue("email").job_id
    follower = Follower(world, job_id)
    follower.after()

    assert follower.after(world.work) == []
    world.operator.pause("email", reason="provider is down")
    world.clock.advance(timedelta(minutes=1))
    assert follower.after(world.poll) == []
    assert world.job(job_id).is_held
    assert follower.after(lambda: world.queue.reschedule(job_id)) == []
    assert follower.after(lambda: world.queue.cancel(job_id, reason="not needed")) == ["job.cancelled"]


def test_dead_letters_and_handlers_own_cancels_are_told(world: World) -> None:
    world.script.then(RuntimeError("boom"))
    dead = Follower(world, world.queue.enqueue("once").job_id)
    dead.after()
    assert dead.after(world.work) == ["job.dead_lettered"]
    world.script.then(Cancel("withdrawn"))
    withdrawn = Follower(world, world.queue.enqueue("once").job_id)
    withdrawn.after()
    assert withdrawn.after(world.work) == ["job.cancelled"]

    assert {*dead.names, *withdrawn.names} <= {
        "job.enqueued",
        "job.started",
        "job.completed",
        "job.failed",
        "job.dead_lettered",
        "job.cancelled",
    }


def test_the_same_change_twice_has_the_same_id_and_what_is_no_job_is_passed_by(world: World) -> None:
    item = world.table.get(keys.job(world.queue.enqueue("report").job_id))
    assert item is not None
    record = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "NewImage": to_item(item)}}
    damaged = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "2", "NewImage": {"job_type": {"S": "x"}}}}
    scope = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "3", "NewImage": {"due_key": {"S": "x"}}}}

    # Each attribute may be what is missing, or what nobody meant to write: none of it may block its shard.
    broken = [{name: value for name, value in item.items() if name != lost} for lost in item]
    nonsense: list[Any] = [b"x", [1], {"a": 1}, ["a"]]
    broken += [{**item, name: wrong} for name in item.keys() - {"PK", "SK"} for wrong in nonsense]
    broken += [{**item, "runs": ["a"]}]
    images = [{"dynamodb": {"SequenceNumber": "4", "NewImage": to_item(each)}} for each in broken]
    assert len(events_of({"Records": images})) < len(images) / 2

    first, second = (events_of({"Records": [scope, damaged, record, {"eventName": "REMOVE"}]}) for _ in range(2))

    assert first == second
    assert [each.sequence_number for each in first] == ["1"]


class Bus:
    """Takes all entries but the third."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def put_events(self, *, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803  as boto3 names it
        self.calls.append(len(Entries))
        assert {entry["Source"] for entry in Entries} == {"leasehold"}
        answers = [{"EventId": "x"} for _ in Entries]
        if len(self.calls) == 1:
            answers[2] = {"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}
        return {"FailedEntryCount": 1, "Entries": answers}


def test_events_that_the_bus_does_not_take_go_back_to_the_stream(world: World) -> None:
    records = []
    for number in range(12):
        item = world.table.get(keys.job(world.queue.enqueue("report").job_id))
        assert item is not None
        records.append({"dynamodb": {"SequenceNumber": str(number), "NewImage": to_item(item)}})
    bus = Bus()

    untaken = publish(events_of({"Records": records}), bus, "leasehold-test-events")  # type: ignore[arg-type]

    assert bus.calls == [10, 2]
    assert untaken == ["2"]
