"""One container in virtual time: its caches, and a table that takes time. All that we use of the library is here."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from leasehold.aws.polling import Polling, Wake
from leasehold.features import Store
from leasehold.kernel.poll import Poller
from leasehold.kernel.services import Services
from leasehold.kernel.times import instant
from leasehold.operate.operator import Operator
from leasehold.pollers.waiting import REREAD_BESIDE_WAKES, WaitingSettings
from leasehold.pool import threads_for
from leasehold.queue import Queue
from leasehold.runtime.worker import Worker
from tests.latency import ONE_CORE_MB, cpu_share
from tests.limits.table import LatentTable
from tests.simulation.kernel import SECOND, in_task
from tests.simulation.pool import VirtualPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, timedelta

    from leasehold.kernel.ports import Dispatcher, Handover
    from leasehold.runtime.handler import BaseJobHandler
    from tests.limits.table import SharedTable
    from tests.simulation.kernel import Kernel, Task

# As deployed; programs have a core of their own.
_MEMORY = {"poller": 512, "handler": 256, "sdk": ONE_CORE_MB}


@dataclass(eq=False)
class Process:
    """dies_after_end: right after the end of its job is written, before it gave back any seat or woke anybody."""

    name: str
    role: str
    kernel: Kernel
    shared: SharedTable
    tasks: dict[Task, None] = field(default_factory=dict)
    dies_after_end: bool = False
    services: Services = field(init=False)
    calls: int = 0
    _busy_until: float = 0.0

    def __post_init__(self) -> None:
        self._random_source = Random(self.name)
        self.services = Services(
            store=Store(LatentTable(self.shared, self)),
            clock=self,
            random_source=self,
            waker=self.shared.waker,
            pool=VirtualPool(self.kernel, self, threads_for(_MEMORY[self.role]).size),
        )

    def compute(self, seconds: float) -> None:
        """So much of a full core: its threads wait for each other, and the whole for its share of the core."""
        begins_at = max(self.kernel.seconds, self._busy_until)
        self._busy_until = begins_at + seconds / cpu_share(_MEMORY[self.role])
        self.kernel.sleep(self._busy_until - self.kernel.seconds)

    @property
    def is_in_task(self) -> bool:
        return in_task()

    @property
    def queue(self) -> Queue:
        return Queue(self.services)

    @property
    def operator(self) -> Operator:
        return Operator(self.services)

    def poll(self, dispatcher: Dispatcher) -> None:
        """As a program does it that has a poller of its own."""
        Poller(self.services, dispatcher, worker_id=self.name, pool=self.services.pool).poll()

    def answer(
        self,
        wake: Wake,
        dispatcher: Dispatcher,
        *,
        start_another: Callable[[bytes], None],
        time_left: timedelta,
    ) -> None:
        """As the deployed function does it."""
        polling = Polling(
            self.services,
            dispatcher,
            worker_id=self.name,
            time_left=time_left,
            start_another=start_another,
            waiting=WaitingSettings(reread_every=REREAD_BESIDE_WAKES),
        )
        polling._should_stop.on_sigterm = lambda: lambda: None  # type: ignore[method-assign]
        polling.answer(wake)

    def run(self, handover: Handover, handlers: Mapping[str, type[BaseJobHandler]]) -> None:
        worker = Worker(
            self.services, handlers, worker_id=self.name, limit_time=False, keep_alive=lambda _: nullcontext()
        )
        worker.run(handover)

    def now(self) -> datetime:
        return instant(self.kernel.now)

    def sleep(self, duration: timedelta) -> None:
        if self.is_in_task:
            self.kernel.sleep(duration.total_seconds())
        else:
            self.kernel.micros += int(duration.total_seconds() * SECOND)

    def bits(self, count: int) -> int:
        return self._random_source.getrandbits(count)

    def share(self) -> float:
        return self._random_source.random()
