"""A line of jobs, each known by a dead letter, to be moved about."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold import Job
    from tests.contract.world import World

A_MINUTE = timedelta(minutes=1)


class Line:
    def __init__(self, world: World) -> None:
        self.world = world
        self.ids: dict[str, str] = {}

    def enqueue(self, names: str, job_type: str = "report", *, apart: timedelta = A_MINUTE, **options: object) -> None:
        for name in names:
            self.ids[name] = self.world.queue.enqueue(job_type, **options).job_id  # type: ignore[arg-type]
            self.world.clock.advance(apart)

    def move(self, name: str, *, before: str | None = None, after: str | None = None) -> Job:
        return self.world.queue.move(
            self.ids[name],
            before=None if before is None else self.ids[before],
            after=None if after is None else self.ids[after],
        )

    def job(self, name: str) -> Job:
        return self.world.job(self.ids[name])

    def claimed(self) -> str:
        """Poll, and tell in which order jobs were handed over."""
        names = {job_id: name for name, job_id in self.ids.items()}
        return "".join(names[handover.job_id] for handover in self.world.claim())
