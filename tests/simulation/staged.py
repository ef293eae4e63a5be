"""Staged scenes: somebody acts between what another has read and what it writes, all within one millisecond.

An ended job that still owes something, such as a member of a group, is due at the moment of its end. Within one
millisecond that is the due key that it had before, and only its status tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.enqueue import NewJob
from tests.simulation.network import DEPLOYMENT
from tests.simulation.plan import Plan
from tests.simulation.simulation import Simulation
from tests.simulation.trace import keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.invocation import Invocation
    from tests.simulation.process import Process

_AT = 1.0
_INSTANT = 0.000001
_WRITES = frozenset({"UpdateItem", "TransactWriteItems", "ExecuteTransaction"})


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A member of a group is made; right before the first write about it by `role`, somebody else ends it.

    before: what is so beforehand.
    act: what an operator does to the member; without it, a poller does what it does.
    ends: `operator` cancels it, or a `poller` finds its limit full and sends it away.
    """

    job_type: str
    role: str
    before: Callable[[Process, str], object] | None = None
    act: Callable[[Process, str], object] | None = None
    ends: str = "operator"


class Staged(Simulation):
    def __init__(self, stage: Stage) -> None:
        super().__init__(0, Plan(calm_at=60.0, latency=_INSTANT, types=(stage.job_type,), wakes=False))
        self._stage = stage
        self._is_done = False

    def begin(self) -> None:
        world, before = self.world, self._stage.before
        self._do(DEPLOYMENT, lambda process: world.deploy(world.registry, process))
        world.kernel.run(lambda: not world.fleet.running, deadline=_AT)
        if before is not None:
            world.fleet.invoke("before", "sdk", lambda p, _: before(p, self._stage.job_type), makes=1)
            world.kernel.run(lambda: not world.fleet.running, deadline=_AT)
            world.start("poller", {}, 0.0)
            world.kernel.run(lambda: False, deadline=_AT - 0.0001)
        world.kernel.later(_AT - world.kernel.seconds, self._make)
        world.kernel.later(20.0, self._tick)
        world.kernel.later(world.plan.calm_at + 1.0, self._heal)

    def _make(self) -> None:
        self.world.network.interject = self._interject
        self.world.fleet.invoke("producer", "sdk", self._create, makes=1, on_end=self._go)

    def _create(self, process: Process, _: object) -> None:
        process.queue.groups.create([NewJob(job=self._stage.job_type, payload={"mode": "result"})], group_id="staged")

    def _go(self) -> None:
        act = self._stage.act
        if act is None:
            self.world.start("poller", {}, 0.0)
        else:
            self.world.fleet.invoke("operator", "operator", lambda p, _: act(p, self._member()))

    def _member(self) -> str:
        jobs = self.world.watch.mirror.jobs.values()
        return next((str(job["job_id"]) for job in jobs if job.get("group_id") == "staged"), "")

    def _interject(self, invocation: Invocation, operation: str, request: dict[str, Any]) -> None:
        member = self._member()
        named = [key.get("SK", {}).get("S", "") for key in keys_of(operation, request)]
        is_about_it = bool(member) and any(sk.endswith(member) for sk in named)
        if self._is_done or invocation.role != self._stage.role or operation not in _WRITES or not is_about_it:
            return
        self._is_done = True
        fleet = self.world.fleet
        others = set(fleet.running)
        if self._stage.ends == "poller":
            self.world.start("poller", {}, 0.0)
        else:
            fleet.invoke("canceller", "operator", lambda p, _: p.queue.cancel(member, reason="staged"))
        while set(fleet.running) - others:
            self.world.kernel.sleep(_INSTANT)


def paused(process: Process, job_type: str) -> None:
    process.operator.pause(job_type, reason="staged")


def busy(process: Process, job_type: str) -> None:
    """Another job of the type has the only seat."""
    process.queue.enqueue(job_type, {"mode": "result", "seconds": 5.0})


def rescheduled(process: Process, job_id: str) -> None:
    process.queue.reschedule(job_id, run_in=timedelta(seconds=5), reason="staged")


def edited(process: Process, job_id: str) -> None:
    process.queue.edit(job_id, payload={"mode": "result", "seconds": 1.0}, reason="staged")
