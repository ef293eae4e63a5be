"""A simulated process: its own clock, chance and caches, and nothing in memory of those before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.features import Store
from leasehold.kernel.dynamodb.table import DynamoTable
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.services import Services
from leasehold.kernel.times import instant
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.telemetry import Event
from tests.simulation.direct_calls import DirectCalls
from tests.simulation.pool import VirtualPool

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from random import Random

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dynamodb.table import TableNames
    from leasehold.operate.failure_report import ErrorReporter
    from leasehold.telemetry import Metric
    from tests.simulation.invocation import Invocation
    from tests.simulation.kernel import Kernel, Task
    from tests.simulation.world import World


@dataclass(eq=False)
class Process:
    """`skew` is how far its clock is ahead of the kernel's."""

    name: str
    world: World
    kernel: Kernel
    skew: timedelta
    random_source: Random
    tasks: dict[Task, None] = field(default_factory=dict)
    is_dead: bool = False
    # What it does now; Lambda gives a container one thing at a time.
    invocation: Invocation | None = None
    client: DynamoDBClient = field(init=False)
    services: Services = field(init=False)

    def open(self, client: DynamoDBClient, names: TableNames, reporter: ErrorReporter) -> None:
        self.client = client
        table = DynamoTable(client, names, sleep=self.kernel.sleep, random_source=self.random_source.random)
        self.services = Services(
            store=Store(table),
            clock=self,
            random_source=self,
            telemetry=Telling(self),
            reporter=reporter,
            identity=KnownIdentity(self.name),
            caller=DirectCalls(self.world),
            pool=VirtualPool(self.kernel, self, self.world.plan.pool),
        )

    @property
    def queue(self) -> Queue:
        return Queue(self.services)

    @property
    def operator(self) -> Operator:
        return Operator(self.services)

    def now(self) -> datetime:
        return instant(self.kernel.now + self.skew)

    def sleep(self, duration: timedelta) -> None:
        self.kernel.sleep(duration.total_seconds())

    def bits(self, count: int) -> int:
        return self.random_source.getrandbits(count)

    def share(self) -> float:
        return self.random_source.random()

    def die(self) -> None:
        """All of its tasks end where they are, the one that calls this included."""
        self.is_dead = True
        for task in list(self.tasks):
            self.kernel.kill(task)


class Telling:
    """Notes in the trace what a poll could not handle: nobody else would hear of it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def event(self, event: Event, **fields: object) -> None:
        if event is Event.ENTRY_FAILED:
            self._process.world.trace.note(self._process.name, f"could not handle {fields}")

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        return
