"""A rush: as long as it lasts there are always jobs of high priority that wait for the only seat; some are of low."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.network import DEPLOYMENT
from tests.simulation.plan import Plan
from tests.simulation.simulation import Simulation

if TYPE_CHECKING:
    from tests.simulation.process import Process

_TYPE = "limited"
LOW, HIGH = 0, 3
_LOW_JOBS, _WAITING = 3, 4


class Rush(Simulation):
    def __init__(self, seed: int, *, seconds: float) -> None:
        super().__init__(seed, Plan(calm_at=seconds, types=(_TYPE,)))
        # How many of low priority had run when the last of high priority was asked for.
        self.low_completed = 0
        self.fewest_waiting = _WAITING

    def begin(self) -> None:
        world = self.world
        self._do(DEPLOYMENT, lambda process: world.deploy(world.registry, process))
        world.kernel.run(lambda: not world.fleet.running, deadline=10.0)
        self._enqueue(HIGH, _WAITING)
        self._enqueue(LOW, _LOW_JOBS)
        self._later(1.0, self._go_on_rushing)
        world.kernel.later(20.0, self._tick)
        world.kernel.later(world.plan.calm_at + 1.0, self._heal)

    def _go_on_rushing(self) -> None:
        waiting = self._count(HIGH, "pending")
        self.fewest_waiting = min(self.fewest_waiting, waiting)
        self.low_completed = self._count(LOW, "completed")
        if self.world.kernel.seconds < self.world.plan.calm_at:
            self._enqueue(HIGH, _WAITING - waiting)
            self._later(1.0, self._go_on_rushing)

    def _enqueue(self, priority: int, count: int) -> None:
        def body(process: Process, _: object) -> None:
            work: dict[str, Any] = {"mode": "result", "seconds": 1.0}
            for _number in range(count):
                self.world.acknowledge(process.queue.enqueue(_TYPE, work, priority=priority))

        self.world.fleet.invoke("producer", "sdk", body, makes=count)

    def _count(self, priority: int, status: str) -> int:
        jobs = self.world.watch.mirror.jobs.values()
        return sum(job["priority"] == priority and job["status"] == status for job in jobs)
