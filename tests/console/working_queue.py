"""A queue at work in this process: the real engine, the real clock, and a poller that runs what is due."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from leasehold.features import Store
from leasehold.kernel.job_type import JobType
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poller
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Fixed
from leasehold.kernel.services import Services
from leasehold.kernel.type_options import DELIVERY
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.runtime.worker import Worker
from leasehold.webhooks.model import delivery_type
from tests.handlers import handler_that

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from leasehold.runtime.handler import JobContext

OPERATOR = "arn:aws:sts::123456789012:assumed-role/Operators/ada"
_LOOK_EVERY_SECONDS = 0.05


class WorkingQueue:
    """Types: `greet` completes; `charge` fails, with two attempts, until `repaired`; `slow` waits for `let_go`."""

    def __init__(self) -> None:
        self.repaired = threading.Event()
        self.let_go = threading.Event()
        self.services = Services(store=Store(MemoryTable("leasehold-dev-jobs")), identity=KnownIdentity(OPERATOR))
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        types = (
            JobType(name="charge", max_attempts=2, retry=Fixed(timedelta(milliseconds=200))),
            JobType(name="greet", concurrency=5),
            JobType(name="slow"),
            JobType(name="removed"),
            delivery_type(),
        )
        self.operator.publish(Registry(types={each.name: each for each in types}))
        self.handlers = {
            "charge": handler_that(self._charge),
            "greet": handler_that(lambda context: {"greeted": True}),
            "slow": handler_that(lambda context: self.let_go.wait(20)),
            DELIVERY: handler_that(lambda context: None),
        }
        # Handlers run in threads, where no time limit can be enforced.
        self._worker = Worker(self.services, self.handlers, worker_id="worker-1", limit_time=False)
        self._poller = Poller(self.services, self, worker_id="poller-1")
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._running: list[threading.Thread] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """The dispatcher port: hand over without waiting."""
        thread = threading.Thread(target=self._worker.run, args=(handover,), daemon=True)
        self._running.append(thread)
        thread.start()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.let_go.set()
        self._thread.join(10)
        for thread in self._running:
            thread.join(10)

    def _work(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_SECONDS):
            self._poller.poll()

    def _charge(self, context: JobContext) -> object:
        if not self.repaired.is_set():
            raise ConnectionError("the payment provider does not answer")
        return {"charged": True}
