"""Scenarios of the SDK: enqueue plain, deduplicated, in bulk, and in the caller's own transaction."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.kernel.dedup import Within
from leasehold.kernel.enqueue import Enqueued, NewJob
from leasehold.kernel.transitions import JobStatus
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario
from tests.crash.world import USERS_TABLE

if TYPE_CHECKING:
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_WINDOW = timedelta(hours=1)
_PLAIN, _DEDUPLICATED = 30, 3


def _enqueue(process: Process, **options: Any) -> tuple[bool, bool]:
    made = process.queue.enqueue("work", {"mode": "result"}, **options)
    process.world.acknowledged.append(made.job_id)
    return made.created, made.replaced is not None


def _plain(process: Process, _prepared: object) -> object:
    return _enqueue(process)


def _deduplicated(process: Process, _prepared: object) -> object:
    return _enqueue(process, dedup_key="k", dedup_window=Within(_WINDOW))


def _replacing(process: Process, _prepared: object) -> object:
    return _enqueue(process, dedup_key="k", on_duplicate="replace")


def _debounced(process: Process, _prepared: object) -> object:
    return _enqueue(process, dedup_key="k", debounce=_WINDOW)


def _many(process: Process, _prepared: object) -> object:
    return _bulk(process, _PLAIN)


def _few(process: Process, _prepared: object) -> object:
    return _bulk(process, 2)


def _bulk(process: Process, count: int) -> object:
    plain = [NewJob(job="work", payload={"mode": "result"}) for _ in range(count)]
    keyed = [NewJob(job="work", payload={"mode": "result"}, dedup_key=f"k{n}") for n in range(_DEDUPLICATED)]
    results = process.queue.enqueue_many([*plain[:20], *keyed, *plain[20:]])
    made = [result for result in results if isinstance(result, Enqueued)]
    process.world.acknowledged += [each.job_id for each in made]
    return [result.created for result in made]


def _transact(process: Process, order: str) -> object:
    """The caller's own transaction; that it retries conflicts is its own duty."""
    job = process.queue.transact_items("work", {"mode": "result"})
    put = {"Put": {"TableName": USERS_TABLE, "Item": {"id": {"S": order}, "job": {"S": job.job_id}}}}
    for last in (False, True):
        try:
            process.client.transact_write_items(TransactItems=[put, *job.items])  # type: ignore[list-item]
            break
        except ClientError:
            if last:
                raise
    process.world.acknowledged.append(job.job_id)
    return len(job.items)


def _ended_with_window_over(world: World) -> None:
    world.enqueue(dedup_key="k", dedup_window=Within(_WINDOW))
    recover(world)
    world.clock.advance(_WINDOW)


def _at_most(count: int) -> Any:
    def check(_world: World, end: Snapshot, _prepared: object) -> None:
        assert len(end.jobs) <= count, "more jobs than were asked for"

    return check


def _one_per_key(world: World, end: Snapshot, _prepared: object) -> None:
    assert all(len(end.with_key(f"k{n}")) <= 1 for n in range(_DEDUPLICATED))


def _old_one_cancelled_for_the_new(_world: World, end: Snapshot, old: str) -> None:
    others = [job for job in end.jobs.values() if job.job_id != old]
    assert (end.jobs[old].status is JobStatus.CANCELLED) == bool(others)


def _order_and_job_agree(world: World, end: Snapshot, order: str) -> None:
    item = world.site.healthy.get_item(TableName=USERS_TABLE, Key={"id": {"S": order}}).get("Item")
    assert list(end.jobs) == ([item["job"]["S"]] if item else [])


SCENARIOS = (
    Scenario(name="enqueue", act=_plain, calls=("BatchExecuteStatement",), check=_at_most(1)),
    Scenario(
        name="enqueue with a new dedup key",
        act=_deduplicated,
        again=_deduplicated,
        calls=("ExecuteTransaction",),
        check=_at_most(1),
    ),
    Scenario(
        name="enqueue with a dedup key that is free again",
        prepare=_ended_with_window_over,
        act=_deduplicated,
        again=_deduplicated,
        calls=("ExecuteTransaction", "ExecuteTransaction"),
        check=_at_most(2),
    ),
    Scenario(
        name="enqueue in place of a waiting job",
        prepare=lambda world: world.enqueue(dedup_key="k", run_in=_WINDOW),
        act=_replacing,
        again=_replacing,
        calls=("ExecuteTransaction", "ExecuteTransaction"),
        check=_old_one_cancelled_for_the_new,
    ),
    Scenario(
        name="enqueue with a dedup key that is held",
        prepare=lambda world: world.enqueue(dedup_key="k", run_in=_WINDOW),
        act=_deduplicated,
        again=_deduplicated,
        calls=("ExecuteTransaction",),
        check=_at_most(1),
    ),
    Scenario(
        name="the first call of a burst",
        act=_debounced,
        again=_debounced,
        calls=("ExecuteTransaction",),
        check=_at_most(1),
    ),
    Scenario(
        name="a call that joins its burst",
        prepare=lambda world: world.enqueue(dedup_key="k", debounce=_WINDOW),
        act=_debounced,
        again=_debounced,
        calls=("UpdateItem",),
        check=_at_most(1),
    ),
    Scenario(
        name="enqueue many",
        act=_many,
        calls=("BatchExecuteStatement", *["ExecuteTransaction"] * _DEDUPLICATED, "BatchExecuteStatement"),
        check=_one_per_key,
    ),
    Scenario(
        name="enqueue a few in bulk",
        act=_few,
        again=_few,
        calls=("BatchExecuteStatement", *["ExecuteTransaction"] * _DEDUPLICATED),
        check=_one_per_key,
    ),
    Scenario(
        name="enqueue in the caller's transaction",
        prepare=lambda world: f"order of {world.names.jobs}",
        act=_transact,
        calls=("TransactWriteItems",),
        check=_order_and_job_agree,
    ),
)
