"""Jobs of every kind, made and run by the system itself: what listings are compared on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import Job, JobType, NewJob, NonRetryableError, Priority, Registry, UntilEnded
from leasehold.kernel.retry import Fixed
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from tests.contract.world import World

TYPES = (
    JobType(name="report", retry=Fixed(timedelta(hours=2)), max_attempts=3),
    JobType(name="email"),
    JobType(name="limited", concurrency=1),
    JobType(name="keyed", concurrency_per_key=1),
)


def populate(world: World, *, shards: int = 1) -> list[Job]:
    """Some sixty jobs: each status, each type, on time and late, with keys, in groups, of schedules and templates."""
    world.types = {each.name: each for each in TYPES}
    world.operator.publish(Registry(types=world.types, shards=shards))
    world.queue.templates.create("nightly", "email", {"n": 1})
    world.queue.schedules.create("hourly", "report", every=timedelta(hours=1))
    _ended(world)
    _of_keys(world)
    _of_groups_and_schedules(world)
    _live(world)
    return all_jobs(world)


def all_jobs(world: World) -> list[Job]:
    """Every job, read without any of what is under test."""
    return stored_jobs(world.services)


def _ended(world: World) -> None:
    for n in range(12):
        world.queue.enqueue(("report", "email")[n % 2], {"n": n}, priority=Priority(n % 4))
        world.work()
        world.clock.advance(timedelta(minutes=7))
    for job_type in ("report", "email", "report"):
        world.script.then(NonRetryableError("it cannot work"))
        world.queue.enqueue(job_type)
        world.work()
        world.clock.advance(timedelta(minutes=1))
    for hours in range(3):
        # Cancelled long before their time: they ended before they were scheduled.
        job_id = world.queue.enqueue("email", run_in=timedelta(hours=5 + hours)).job_id
        world.clock.advance(timedelta(seconds=30))
        world.queue.cancel(job_id, reason="not wanted")


def _of_keys(world: World) -> None:
    for key in ("order-1", "order-1", "order-2"):
        world.queue.enqueue("report", dedup_key=key, dedup_window=UntilEnded())
        world.work()
        world.clock.advance(timedelta(minutes=2))
    world.queue.enqueue("report", dedup_key="order-1", dedup_window=UntilEnded(), run_in=timedelta(hours=4))
    world.queue.enqueue("email", dedup_key="order-1", dedup_window=UntilEnded())
    world.work()
    for n in range(4):
        world.queue.enqueue("keyed", {"n": n}, concurrency_key=f"tenant-{n % 2}")
    world.work()
    world.clock.advance(timedelta(minutes=3))


def _of_groups_and_schedules(world: World) -> None:
    world.queue.groups.create([NewJob(job="report", payload={"n": n}) for n in range(5)], group_id="import")
    for _ in range(6):
        world.work()
        world.clock.advance(timedelta(seconds=1))
    for template in ("nightly", "nightly"):
        world.queue.enqueue(template=template)
        world.work()
    world.queue.enqueue(template="nightly", run_in=timedelta(days=2))
    world.clock.advance(timedelta(hours=2))
    for _ in range(3):
        world.work()
        world.clock.advance(timedelta(minutes=1))


def _live(world: World) -> None:
    for days in range(5):
        world.queue.enqueue("report", run_in=timedelta(days=1 + days), priority=Priority(days % 4))
    world.script.then(RuntimeError("not now"), RuntimeError("not now"))
    for _ in range(2):
        world.queue.enqueue("report")
    world.work()
    for n in range(4):
        world.queue.enqueue("keyed", {"n": n}, concurrency_key="tenant-1")
        world.queue.enqueue("limited", {"n": n})
    # Claimed and not started: one of each is running from here on, the others are held.
    world.claim()
    world.clock.advance(timedelta(seconds=1))
    world.operator.pause("email", reason="the letters are wrong")
    for n in range(6):
        world.queue.enqueue("email", {"n": n}, priority=Priority(n % 3))
    world.claim()
