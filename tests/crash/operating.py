"""Scenarios of operators: cancel, retry, reschedule, edit."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from tests.crash.faults import Killed
from tests.crash.recovery import recover
from tests.crash.scenario import Scenario, insistently

if TYPE_CHECKING:
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import Process, World

_HOUR = timedelta(hours=1)


def _cancel(process: Process, job_id: str) -> object:
    return process.queue.cancel(job_id, reason="not wanted").job_ended


def _retry(process: Process, job_id: str) -> object:
    return process.queue.retry(job_id).created


def _reschedule(process: Process, job_id: str) -> object:
    return process.queue.reschedule(job_id, run_in=2 * _HOUR).scheduled_for.year


def _edit(process: Process, job_id: str) -> object:
    return process.queue.edit(job_id, payload={"mode": "skip"}, priority=2, max_attempts=7).payload


def _claimed(world: World) -> str:
    job_id = world.enqueue(job_type="limited", dedup_key="k")
    world.claim()
    return job_id


def _lost_while_it_ran(world: World) -> str:
    """Its worker has died: only the poller that reaps it can heed what is asked for."""
    job_id = world.enqueue("die_once", dedup_key="k")
    with suppress(Killed):
        world.run(world.claim())
    return job_id


def _completed(**options: Any) -> Any:
    def prepare(world: World) -> str:
        job_id = world.enqueue(**options)
        recover(world)
        return job_id

    return prepare


def _cancelled_or_completed(_world: World, end: Snapshot, job_id: str) -> None:
    assert end.jobs[job_id].status in {JobStatus.CANCELLED, JobStatus.COMPLETED}


def _not_tried_again(_world: World, end: Snapshot, job_id: str) -> None:
    """Unless nobody asked, or the request was so late that it met the second run, which completed all the same."""
    job = end.jobs[job_id]
    assert (job.status, len(job.runs)) in {(JobStatus.CANCELLED, 1), (JobStatus.COMPLETED, 2)}
    assert job.cancel_requested is not None or job.status is JobStatus.COMPLETED


def _at_most_one_successor(_world: World, end: Snapshot, job_id: str) -> None:
    assert len(end.successors(job_id)) <= 1


SCENARIOS = (
    Scenario(
        name="cancel a waiting job",
        prepare=lambda world: world.enqueue(dedup_key="k", run_in=_HOUR),
        act=_cancel,
        again=insistently(_cancel),
        calls=("TransactWriteItems", "UpdateItem"),
        check=_cancelled_or_completed,
    ),
    Scenario(
        name="cancel a claimed job",
        prepare=_claimed,
        act=_cancel,
        again=insistently(_cancel),
        calls=("TransactWriteItems", "UpdateItem", "UpdateItem"),
        check=_cancelled_or_completed,
    ),
    Scenario(
        name="ask a running job to stop",
        prepare=_lost_while_it_ran,
        act=_cancel,
        again=insistently(_cancel),
        calls=("TransactWriteItems",),
        check=_not_tried_again,
    ),
    Scenario(
        name="retry an ended job",
        prepare=_completed(),
        act=_retry,
        calls=("TransactWriteItems",),
        check=_at_most_one_successor,
    ),
    Scenario(
        name="retry an ended job that has a dedup key",
        prepare=_completed(dedup_key="k"),
        act=_retry,
        again=insistently(_retry),
        calls=("TransactWriteItems",) * 2,
        check=_at_most_one_successor,
    ),
    Scenario(
        name="retry a waiting job",
        prepare=lambda world: world.enqueue(run_in=_HOUR),
        act=_retry,
        again=insistently(_retry),
        calls=("TransactWriteItems",),
        check=_at_most_one_successor,
    ),
    Scenario(
        name="reschedule",
        prepare=lambda world: world.enqueue(run_in=_HOUR),
        act=_reschedule,
        calls=("TransactWriteItems",),
    ),
    Scenario(
        name="edit",
        prepare=lambda world: world.enqueue(run_in=_HOUR),
        act=_edit,
        again=insistently(_edit),
        calls=("TransactWriteItems",),
    ),
)
