"""Where handlers run: who does at the same time, and whether that may be."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.simulation.invariants.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulation.process import Process
    from tests.simulation.world import World


class Floor:
    def __init__(self, world: World) -> None:
        self._world = world
        self.runs: Counter[str] = Counter()
        self._at_work: dict[str, list[str]] = {}
        self._of_type: Counter[str] = Counter()

    @contextmanager
    def running(self, job_id: str, job_type: str, process: Process) -> Iterator[None]:
        self.runs[job_id] += 1
        at_work = self._at_work.setdefault(job_id, [])
        name = str(process.invocation)
        at_work.append(name)
        self._of_type[job_type] += 1
        self._look(job_id, job_type)
        try:
            yield
        finally:
            at_work.remove(name)
            self._of_type[job_type] -= 1

    def _look(self, job_id: str, job_type: str) -> None:
        """Promised as long as clocks are near and no process outlives its time; not where a beat may be missed."""
        world = self._world
        settings = world.types_ever.get(job_type)
        if not world.plan.is_within_tolerance or settings is None or settings.heartbeat:
            return
        at_work = self._at_work[job_id]
        if len(at_work) > 1:
            world.watch.blame(Violation("handlers of a job never overlap", f"{job_id[-6:]}: {', '.join(at_work)}"))
        limit = world.most_seats(job_type)
        if limit is not None and self._of_type[job_type] > limit:
            told = f"{self._of_type[job_type]} of {job_type} at once, {limit} allowed"
            world.watch.blame(Violation("limits are never exceeded", told))
