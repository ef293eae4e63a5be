"""Groups of scripted jobs, made and run by a world of the contract suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold import JobStatus, NewJob
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.groups.model import Group
    from tests.contract.world import World

GROUP = "import"
SHORT = {
    JobStatus.PENDING: "waiting",
    JobStatus.FAILED: "waiting",
    JobStatus.IN_PROGRESS: "running",
    JobStatus.COMPLETED: "completed",
    JobStatus.DEAD_LETTER: "failed",
    JobStatus.CANCELLED: "cancelled",
}


def jobs(count: int, job_type: str = "report") -> list[NewJob]:
    return [NewJob(job=job_type, payload={"n": n}) for n in range(count)]


def make(world: World, count: int, job_type: str = "report", **options: Any) -> Group:
    return world.queue.groups.create(jobs(count, job_type), **{"group_id": GROUP, **options}).group


def group(world: World) -> Group:
    return world.queue.groups.get(GROUP)


def members(world: World) -> list[Job]:
    return world.queue.groups.members(GROUP).jobs


def states(world: World) -> list[str]:
    return [SHORT[job.status] for job in members(world)]


def counts(world: World) -> tuple[str, int, int, int, int]:
    """The group's state, and how many members have completed, failed, been cancelled and been skipped."""
    found = group(world)
    return str(found.state), found.completed, found.failed, found.cancelled, found.skipped


def run_out(world: World) -> list[str]:
    """Run what is due until nothing is; how each run went."""
    ran: list[str] = []
    idle = 0
    # What ends within the very moment in which it became due is settled by the next poll only.
    while idle < 2:
        now = world.work()
        ran += now
        idle = 0 if now else idle + 1
    assert world.recorder.of(Event.ENTRY_FAILED) == []
    return ran


def order_of_runs(world: World) -> list[int | None]:
    """The numbers of the members that were run, in order; None for jobs of no group."""
    return [world.job(job_id).member for job_id, _ in world.script.seen]


def callbacks(world: World) -> list[Job]:
    ids = {job.job_id for job in members(world)}
    made = [str(fields["job_id"]) for fields in world.recorder.of(Event.JOB_ENQUEUED)]
    return [world.job(job_id) for job_id in made if job_id not in ids]
