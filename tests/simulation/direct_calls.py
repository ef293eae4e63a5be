"""Direct runs: a call of a handler that waits for its answer, as Lambda makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.direct_runs.model import DirectRunLostError
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.keys import to_text
from leasehold.runtime.worker import Worker
from tests.simulation.faults import AT_INVOKES, Fault
from tests.simulation.kernel import current_process

if TYPE_CHECKING:
    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.job_type import JobType
    from tests.simulation.invocation import Invocation
    from tests.simulation.process import Process
    from tests.simulation.world import World

_LOOK_EVERY = 0.05


class DirectCalls:
    """The caller port."""

    def __init__(self, world: World) -> None:
        self._world = world

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        world = self._world
        answers: list[DirectAnswer] = []
        fault = world.network.draw(AT_INVOKES)
        world.trace.note(str(current_process().invocation), f"calls {job_type.name} directly: {fault or 'accepted'}")
        if fault is Fault.INVOKE_REFUSED:
            raise DispatchError("injected")

        def body(process: Process, invocation: Invocation) -> None:
            worker = Worker(process.services, world.handlers, worker_id=invocation.worker_id, limit_time=False)
            answers.append(worker.run_directly(run, remaining=job_type.timeout))

        called = world.fleet.invoke(job_type.name, "handler", body, timeout=job_type.timeout.total_seconds())
        while called in world.fleet.running:
            world.kernel.sleep(_LOOK_EVERY)
        if not answers or fault is Fault.INVOKE_DROPPED:
            raise DirectRunLostError(job_type.name, run.run_id, "injected", to_text(run.until))
        return answers[0]
