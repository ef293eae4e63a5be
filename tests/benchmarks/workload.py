"""Plain jobs in three phases: enqueue them, poll until nothing is due, handle what was handed over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold import JobType
from leasehold.engine.execute import Execution, Executor
from leasehold.engine.poll import Poller
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.domain.handover import Handover
    from leasehold.domain.payload import Json

ENQUEUE, POLL, HANDLE = PHASES = ("enqueue", "poll", "handle")
JOB_TYPE = "send_order_receipt"
PAYLOAD: dict[str, Json] = {"order_id": "o-20260101-000417", "note": "thank you"}


@dataclass
class Workload:
    """`tasks` yields the pieces of a phase, each of which may run beside the others; run the phases in order."""

    client: DynamoDBClient
    name: str
    jobs: int
    payload: dict[str, Json] = field(default_factory=lambda: PAYLOAD)

    def __post_init__(self) -> None:
        self._deployed = RealQueue(self.client, [JobType(name=JOB_TYPE)], name=self.name)
        self._inbox = Inbox()
        self._poller = Poller(self._deployed.process(), self._inbox, worker_id="poller-4f1c9a27")
        self._executor = Executor(self._deployed.process(), worker_id="handler-9d02b6e1")

    def tasks(self, phase: str) -> Iterator[Callable[[], object]]:
        match phase:
            case "enqueue":
                yield from [self._enqueue] * self.jobs
            case "poll":
                self._deployed.clock.advance(timedelta(seconds=1))
                yield self._poller.poll
            case "handle":
                if len(self._inbox.handovers) != self.jobs:
                    raise AssertionError(f"{len(self._inbox.handovers)} of {self.jobs} jobs were handed over")
                yield from [partial(self._handle, handover) for handover in self._inbox.handovers]
            case _:
                raise ValueError(f"a workload has the phases {', '.join(PHASES)}, not {phase!r}")

    def run(self, phase: str, *, threads: int = 1) -> None:
        run_all(list(self.tasks(phase)), threads=threads)

    def _enqueue(self) -> None:
        self._deployed.queue.enqueue(JOB_TYPE, self.payload)

    def _handle(self, handover: Handover) -> None:
        execution = self._executor.execute(handover, lambda _attempt: None)
        if execution is not Execution.COMPLETED:
            raise AssertionError(f"a job ended as {execution}: what is measured must complete")


def run_all(tasks: Sequence[Callable[[], object]], *, threads: int) -> None:
    if threads == 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()
