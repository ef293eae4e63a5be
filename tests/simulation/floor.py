"""Where handlers run: who does at the same time, and whether that may be."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.kernel.keys import JobId, key_of
from tests.simulation.invariants.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulation.mirror import Record
    from tests.simulation.process import Process
    from tests.simulation.world import World


class Floor:
    def __init__(self, world: World) -> None:
        self._world = world
        self.runs: Counter[str] = Counter()
        self._at_work: dict[str, list[str]] = {}
        # Direct runs, by their type.
        self._direct: dict[str, list[str]] = {}

    @contextmanager
    def running(self, job_id: str, process: Process) -> Iterator[None]:
        self.runs[job_id] += 1
        at_work = self._at_work.setdefault(job_id, [])
        name = str(process.invocation)
        at_work.append(name)
        # Promised as long as clocks are near and no process outlives its time.
        if self._world.plan.is_within_tolerance:
            self._check_alone(job_id)
            self._check_limits(self._record(job_id))
            self._check_apart(self._record(job_id))
        try:
            yield
        finally:
            at_work.remove(name)
            if not at_work:
                del self._at_work[job_id]

    @contextmanager
    def running_directly(self, job_type: str, process: Process) -> Iterator[None]:
        """A run without a job, which has its type to itself."""
        name = str(process.invocation)
        self._direct.setdefault(job_type, []).append(name)
        if self._world.plan.is_within_tolerance:
            for job_id in self._at_work:
                self._check_apart(self._record(job_id))
        try:
            yield
        finally:
            self._direct[job_type].remove(name)

    def _check_apart(self, job: Record) -> None:
        beside = self._direct.get(job["job_type"])
        # A handler that completed its job by a transaction of its own may go on.
        if beside and job["status"] != "completed":
            told = f"{job['job_type']} {job['job_id'][-6:]} beside {', '.join(beside)}"
            self._world.watch.blame(Violation("a direct run has its type to itself", told))

    def _check_alone(self, job_id: str) -> None:
        """Not promised where a beat may be missed."""
        at_work, settings = self._at_work[job_id], self._world.limits.types[self._record(job_id)["job_type"]]
        if len(at_work) > 1 and not settings.heartbeat:
            told = f"{job_id[-6:]}: {', '.join(at_work)}"
            self._world.watch.blame(Violation("handlers of a job never overlap", told))

    def _check_limits(self, job: Record) -> None:
        """As many handlers as a limit allows: of all, of a type, of a key, of a resource."""
        limits, busy = self._world.limits, Counter[str]()
        for job_id, at_work in self._at_work.items():
            other = self._record(job_id)
            # A handler that completed its job by a transaction of its own has given its seats back, and may go on.
            if other["status"] != "completed":
                busy.update(dict.fromkeys(limits.shared_by(other), len(at_work)))
        for scope in limits.shared_by(job):
            if busy[scope] > limits.most(scope):
                told = f"{busy[scope]} of {scope} run at once, {limits.most(scope)} may"
                self._world.watch.blame(Violation("limits are never exceeded", told))

    def _record(self, job_id: str) -> Record:
        return self._world.watch.mirror.jobs[key_of(JobId(job_id))]
