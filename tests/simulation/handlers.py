"""A handler that behaves as its payload says, and shows who runs at the same time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold.kernel.errors import LeaseholdError, LeaseLostError, NonRetryableError
from leasehold.runtime import lease
from leasehold.runtime.direct import DirectContext
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.signals import Cancel, Skip, Snooze
from leasehold.runtime.timing import JobTimeoutError
from tests.simulation.kernel import Killed, current_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.execute import Attempt
    from leasehold.kernel.payload import Json
    from leasehold.runtime.handler import JobContext
    from tests.simulation.process import Process

MODES = (
    "result",
    "busy",
    "fail_once",
    "fail",
    "permanent",
    "snooze_once",
    "skip",
    "cancel",
    "extend",
    "look",
    "transact",
    "hang",
    "die_once",
    "follow",
)


class Work(BaseModel):
    mode: str = "result"
    seconds: float = 0.0


class WorkHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Work

    def handle(self, payload: Work, context: JobContext) -> Json:
        process = current_process()
        if isinstance(context, DirectContext):
            with process.world.floor.running_directly(context.job_type, process):
                process.kernel.sleep(payload.seconds)
                return {"done": "directly"}
        with process.world.floor.running(context.job_id, process):
            return _behave(payload, context, process)


def _behave(payload: Work, context: JobContext, process: Process) -> Json:  # noqa: PLR0912 -- a case per mode
    world, kernel = process.world, process.kernel
    is_first_run = world.floor.runs[context.job_id] == 1
    kernel.sleep(payload.seconds)
    match payload.mode:
        case "busy":
            kernel.sleep(4.0)
        case "extend":
            extend(context._attempt, process)  # the simulation stands where the runtime does
            kernel.sleep(payload.seconds)
        case "look":
            for _ in range(3):
                kernel.sleep(1.5)
                if context.cancel_requested:
                    raise Cancel("asked to stop")
        case "transact":
            context.transact_complete([world.counted(context.job_id)], result={"by": "transaction"})
        case "fail_once" if is_first_run:
            raise RuntimeError("not this time")
        case "fail":
            raise RuntimeError("never")
        case "permanent":
            raise NonRetryableError("not like this")
        case "snooze_once" if is_first_run:
            raise Snooze(6)
        case "skip":
            raise Skip("nothing to do")
        case "cancel":
            raise Cancel("no longer wanted")
        case "hang":
            kernel.sleep(5.5)
            raise JobTimeoutError(5.5)
        case "die_once" if is_first_run:
            process.die()
            raise Killed(process.name)
        case "follow" if is_first_run:
            assert process.invocation is not None
            process.invocation.makes += 1
            world.acknowledge(process.queue.enqueue("plain", {"mode": "result"}, dedup_key=f"after-{context.job_id}"))
    return {"done": payload.mode}


def extend(attempt: Attempt, process: Process) -> None:
    """Prolong a lease, and let its length be known: so what is written says when that was decided."""
    assert process.invocation is not None
    process.invocation.lease_length = attempt.job_type.lease_length
    lease.extend(attempt)


@contextmanager
def heartbeat(attempt: Attempt) -> Iterator[None]:
    """The runtime's heartbeat with a task in the place of its thread."""
    process = current_process()
    beating = _Beat(attempt, process)
    task = process.kernel.spawn(f"{process.invocation.worker_id}+beat", beating.run, process=process)  # type: ignore[union-attr]
    try:
        yield
    finally:
        beating.is_over = True
        while beating.is_in_call and not task.has_ended:
            process.kernel.sleep(0.01)
        process.kernel.kill(task)
    beating.raise_if_lost()


class _Beat:
    def __init__(self, attempt: Attempt, process: Process) -> None:
        self.is_over = self.is_in_call = False
        self.lost: LeaseLostError | None = None
        self._attempt = attempt
        self._process = process

    def raise_if_lost(self) -> None:
        """A handler that completed by itself has no lease left to lose."""
        if self.lost is not None and not self._attempt.has_ended:
            raise self.lost

    def run(self) -> None:
        interval = self._attempt.job_type.lease_length.total_seconds() / 3
        while True:
            self._process.kernel.sleep(interval)
            if self.is_over:
                return
            self.is_in_call = True
            try:
                extend(self._attempt, self._process)
            except LeaseLostError as error:
                self.lost = error
                return
            except LeaseholdError:
                continue  # the store may answer at the next beat
            finally:
                self.is_in_call = False
