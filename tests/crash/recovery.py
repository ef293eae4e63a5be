"""What happens after a crash without anybody's help: pollers go on being woken, leases and pauses run out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.keys import Due
from tests.crash.snapshot import stored, stored_jobs

if TYPE_CHECKING:
    from leasehold.kernel.poll import Poller
    from tests.crash.world import World

_LONG_ENOUGH = 60


def recover(world: World, poller: Poller | None = None) -> None:
    """Poll, by default with a new, healthy process, the clock jumping to what is due next, until all is at rest."""
    poller = poller or world.process().poller()
    for _ in range(_LONG_ENOUGH):
        jobs, groups = stored(world)
        due = [job for job in jobs if job.due is not None]
        tended = [Due.parse(group.due_key).at for group in groups if group.due_key]
        if not due and not tended:
            return
        # Held jobs are due with their scope, which looks again within a minute; in no lane at all are those that their
        # group has not let in.
        upcoming = [job.due.at for job in due if job.due is not None and job.due_lane is not None and not job.is_held]
        upcoming += tended
        world.clock.move_to(min(upcoming, default=world.clock.now() + timedelta(minutes=1)))
        poller.poll()
        world.clock.advance(timedelta(seconds=1))
    stuck = [f"{job.job_id} {job.status} {job.due_lane} {job.due}" for job in stored_jobs(world) if job.due]
    raise AssertionError(f"these jobs never come to rest: {stuck}")
