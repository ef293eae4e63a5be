"""Handlers in a thread pool, which stands for Lambda: a hand-over is accepted at once and runs some time later."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold import BaseJobHandler, Worker

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.real_queue import RealQueue

THREADS = 8


class Number(BaseModel):
    n: int


class Crew:
    """Counts how often each number was handled."""

    def __init__(self, deployed: RealQueue, expected: int) -> None:
        self.handled: Counter[int] = Counter()
        self.all_ended = threading.Event()
        self._left = expected
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="handler")
        self._worker = Worker(deployed.process(), {"count": self._handler()}, worker_id="crew", limit_time=False)

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._pool.submit(self._run, handover)

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, handover: Handover) -> None:
        self._worker.run(handover)
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.all_ended.set()

    def _count(self, number: int) -> None:
        with self._lock:
            self.handled[number] += 1

    def _handler(self) -> type[BaseJobHandler]:
        count = self._count

        class Count(BaseJobHandler):
            @classmethod
            def payload_model(cls) -> type[BaseModel]:
                return Number

            def handle(self, payload: BaseModel) -> None:
                assert isinstance(payload, Number)
                count(payload.n)

        return Count
