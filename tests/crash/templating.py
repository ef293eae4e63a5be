"""Scenarios of templates: create, update and delete them, enqueue and schedule jobs from them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.enqueue import Enqueued, NewJob
from leasehold.schedules.trigger import trigger
from leasehold.templates.records import template_key
from tests.crash.scenario import Scenario, insistently

if TYPE_CHECKING:
    from leasehold.audit.records import AuditRecord
    from leasehold.kernel.table import Record
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_HOUR = timedelta(hours=1)
_PAYLOAD = {"mode": "result", "style": "short", "n": 2}


def _prepared(world: World) -> None:
    world.elsewhere.queue.templates.create("nightly", "work", {"mode": "result", "style": "short", "n": 1}, priority=2)


def _prepared_with_slot(world: World) -> str:
    """Slots of one name have the same job ids in every world; another name in each, for they share a ledger."""
    _prepared(world)
    name = world.names.jobs
    world.elsewhere.queue.schedules.create(name, template="nightly", payload={"n": 2}, every=_HOUR, overlap="allow")
    world.clock.advance(_HOUR)
    return name


def _create(process: Process, _prepared: object) -> object:
    return process.queue.templates.create("nightly", "work", {"n": 1}).version


def _update(process: Process, _prepared: object) -> object:
    return process.queue.templates.update("nightly", payload={"n": 2}, remove=["priority"]).version


def _delete(process: Process, _prepared: object) -> object:
    process.queue.templates.delete("nightly")
    return "deleted"


def _enqueue(process: Process, _prepared: object) -> object:
    made = process.queue.enqueue(template="nightly", payload={"n": 2})
    process.world.acknowledged.append(made.job_id)
    return made.created


def _enqueue_many(process: Process, _prepared: object) -> object:
    results = process.queue.enqueue_many([NewJob(template="nightly", payload={"n": 2})] * 3)
    made = [result for result in results if isinstance(result, Enqueued)]
    process.world.acknowledged += [each.job_id for each in made]
    return [each.created for each in made]


def _trigger(process: Process, schedule: str) -> object:
    return len(trigger(schedule, process.services))


def _look(world: World) -> tuple[Record | None, list[AuditRecord]]:
    services = world.elsewhere.services
    return services.store.table.get(template_key("nightly")), services.store.audits.trail("template#nightly")


def _changes_and_records_agree(actions: list[str]) -> Any:
    """All changes up to one of these, each with one record, chained; and the template is what the last one left."""

    def check(world: World, _end: Snapshot, _prepared: object) -> None:
        template, records = _look(world)
        by_previous = {record.previous: record for record in records}
        assert len(by_previous) == len(records), "the chain forks"
        chain, head = [], ""
        while head in by_previous:
            chain.append(by_previous[head])
            head = chain[-1].head
        assert [record.audit_entry.action for record in chain] == actions[: len(records)]
        is_there = bool(chain) and chain[-1].audit_entry.action != "delete"
        assert (template is not None) == is_there
        assert template is None or (template["audit_head"], template["version"]) == (head, len(chain))

    return check


def _complete_copies(count: int) -> Any:
    def check(_world: World, end: Snapshot, _prepared: object) -> None:
        assert len(end.jobs) <= count, "more jobs than were asked for"
        for job in end.jobs.values():
            assert (job.template, job.payload, job.priority) == ("nightly", _PAYLOAD, 2), (
                "a part of the copy is missing"
            )

    return check


def _one_job_for_the_slot(world: World, end: Snapshot, prepared: object) -> None:
    assert len(end.jobs) == 1
    _complete_copies(1)(world, end, prepared)


SCENARIOS = (
    Scenario(
        name="create a template",
        act=_create,
        again=insistently(_create),
        calls=("TransactWriteItems",),
        check=_changes_and_records_agree(["create"]),
    ),
    Scenario(
        name="update a template",
        prepare=_prepared,
        act=_update,
        again=_update,
        calls=("TransactWriteItems",),
        check=_changes_and_records_agree(["create", "update"]),
    ),
    Scenario(
        name="delete a template",
        prepare=_prepared,
        act=_delete,
        again=insistently(_delete),
        calls=("TransactWriteItems",),
        check=_changes_and_records_agree(["create", "delete"]),
    ),
    Scenario(
        name="enqueue from a template",
        prepare=_prepared,
        act=_enqueue,
        calls=("BatchExecuteStatement",),
        check=_complete_copies(1),
    ),
    Scenario(
        name="enqueue many from a template",
        prepare=_prepared,
        act=_enqueue_many,
        calls=("BatchExecuteStatement",),
        check=_complete_copies(3),
    ),
    Scenario(
        name="trigger a slot of a template",
        prepare=_prepared_with_slot,
        act=_trigger,
        again=_trigger,
        lift=lambda world: world.elsewhere.poller().poll(),
        calls=("ExecuteTransaction",),
        check=_one_job_for_the_slot,
    ),
)
