"""Scenarios of payloads that stand apart: whoever dies between payload and job leaves no job without its payload."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.housekeeping.payload_rounds import keep_payloads
from leasehold.kernel import partitions
from leasehold.kernel.enqueue import Enqueued, NewJob
from leasehold.operate.purge import purge
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario, insistently
from tests.sample_payloads import noise

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Handover
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_HOUR = timedelta(hours=1)
_LONG_AGO = timedelta(days=10)


def large(mode: str = "result", *, seed: int = 1) -> dict[str, Any]:
    return {"mode": mode, **noise(2000, seed=seed)}


def _enqueue(process: Process, _prepared: object) -> object:
    return _made(process)


def _deduplicated(process: Process, _prepared: object) -> object:
    return _made(process, dedup_key="k")


def _replacing(process: Process, _prepared: object) -> object:
    return _made(process, dedup_key="k", on_duplicate="replace")


def _made(process: Process, **options: Any) -> object:
    made = process.queue.enqueue("work", large(), **options)
    process.world.acknowledged.append(made.job_id)
    return made.created


def _many(process: Process, _prepared: object) -> object:
    jobs = [NewJob(job="work", payload=large(seed=n) if n % 2 else {"mode": "result"}) for n in range(6)]
    made = [each for each in process.queue.enqueue_many(jobs) if isinstance(each, Enqueued)]
    process.world.acknowledged += [each.job_id for each in made]
    return [each.created for each in made]


def _group(process: Process, _prepared: object) -> object:
    members = [NewJob(job="work", payload=large(seed=n)) for n in range(3)]
    callback = NewJob(job="work", payload=large())
    group_id = f"large-{process.world.names.jobs}"
    return process.queue.groups.create(members, mode="parallel", callback=callback, group_id=group_id).created


def _waiting(world: World) -> JobId:
    return _put(world, run_in=_HOUR)


def _put(world: World, mode: str = "result", **options: Any) -> JobId:
    job_id = world.elsewhere.queue.enqueue("work", large(mode), **options).job_id
    world.acknowledged.append(job_id)
    return job_id


def _edit(process: Process, job_id: JobId) -> object:
    return process.queue.edit(job_id, payload=large("skip", seed=2)).payload == large("skip", seed=2)


def _one_of_both(_world: World, end: Snapshot, job_id: JobId) -> None:
    assert end.jobs[job_id].payload in (large(), large("skip", seed=2)), "a payload that nobody asked for"


def _claimed(mode: str, **options: Any) -> Any:
    def prepare(world: World) -> Handover:
        _put(world, mode, **options)
        return world.claim()

    return prepare


def _run(process: Process, handover: Handover) -> object:
    return process.worker.run(handover)


def _buried(_world: World, end: Snapshot, handover: Handover) -> None:
    assert end.dead_letters[handover.job_id].payload == large("fail")


def _held_for_long(world: World) -> JobId:
    world.elsewhere.operator.pause("work", reason="a long holiday")
    job_id = _put(world)
    world.clock.advance(_LONG_AGO)
    return job_id


def _keep(process: Process, _prepared: object) -> object:
    kept = keep_payloads(process.services, worker_id="keeper", should_stop=lambda: None)
    # A process that got no answer is told nothing, and the next one looks.
    return kept is None or kept.renewed


def _lift(world: World) -> None:
    world.clock.advance(timedelta(minutes=5))
    keep_payloads(world.process().services, worker_id="keeper", should_stop=lambda: None)
    world.elsewhere.operator.unpause("work")


def _kept(world: World, end: Snapshot, job_id: JobId) -> None:
    name = end.jobs[job_id].payload_name
    assert name is not None
    item = world.elsewhere.services.store.table.get(partitions.payload(job_id, name))
    assert item is not None
    expires_at = item["expires_at"]
    assert isinstance(expires_at, int)
    assert expires_at - world.clock.now().timestamp() > timedelta(days=50).total_seconds()


def _ended(world: World) -> JobId:
    job_id = _put(world)
    recover(world)
    return job_id


def _purge(process: Process, job_id: JobId) -> object:
    return purge(job_id, process.services, reason="she asked for it").payload


def _gone_if_recorded(world: World, end: Snapshot, job_id: JobId) -> None:
    left = list(partitions.records_in(world.elsewhere.services.store.table, partitions.payload_partition(job_id)))
    assert bool(left) == (end.jobs[job_id].payload_name is not None), "purged, and still there"


SCENARIOS = (
    Scenario(name="enqueue a large payload", act=_enqueue, calls=("BatchExecuteStatement",) * 2),
    Scenario(
        name="enqueue a large payload with a dedup key",
        act=_deduplicated,
        again=_deduplicated,
        calls=("BatchExecuteStatement", "ExecuteTransaction"),
    ),
    Scenario(
        name="enqueue a large payload in place of a waiting job",
        prepare=lambda world: _put(world, dedup_key="k", run_in=_HOUR),
        act=_replacing,
        again=_replacing,
        calls=("BatchExecuteStatement", "ExecuteTransaction"),
    ),
    Scenario(name="enqueue many, some with large payloads", act=_many, calls=("BatchExecuteStatement",) * 2),
    Scenario(
        name="make a group of large payloads",
        act=_group,
        again=insistently(_group),
        calls=("TransactWriteItems", "BatchExecuteStatement", "ExecuteTransaction", "TransactWriteItems"),
    ),
    Scenario(
        name="edit a large payload",
        prepare=_waiting,
        act=_edit,
        again=insistently(_edit),
        calls=("PutItem", "TransactWriteItems"),
        check=_one_of_both,
    ),
    Scenario(
        name="run a job with a large payload",
        prepare=_claimed("result"),
        act=_run,
        calls=("UpdateItem", "UpdateItem"),
    ),
    Scenario(
        name="bury a job with a large payload",
        prepare=_claimed("fail", max_attempts=1),
        act=_run,
        calls=("UpdateItem", "ExecuteTransaction"),
        check=_buried,
    ),
    Scenario(
        name="let a large payload live on",
        prepare=_held_for_long,
        act=_keep,
        lift=_lift,
        calls=("UpdateItem", "UpdateItem", "UpdateItem"),
        check=_kept,
    ),
    Scenario(
        name="purge a job with a large payload",
        prepare=_ended,
        act=_purge,
        again=insistently(_purge),
        calls=("TransactWriteItems",),
        check=_gone_if_recorded,
    ),
)
