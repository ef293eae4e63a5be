"""Pollers and workers in this process: what Lambda functions do when Leasehold is deployed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from leasehold.domain.errors import LeaseholdError
from leasehold.engine.poll import Poller
from leasehold.local.demo.handlers import WorkerDied
from leasehold.runtime.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.domain.handover import Handover
    from leasehold.engine.parts import Parts
    from leasehold.local.demo.journal import Journal
    from leasehold.runtime.handler import BaseJobHandler

POLLERS = 2
WORKERS = 8
_INTERVAL_SECONDS = 0.25


class Runner:
    """Polls and works for as long as its `with` block lasts; leaving it finishes what runs and claims no more."""

    def __init__(self, parts: Parts, handlers: Mapping[str, type[BaseJobHandler]], journal: Journal) -> None:
        self._parts = parts
        self._journal = journal
        self._worker = Worker(parts, handlers, worker_id="worker")
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="worker")
        self._stopping = threading.Event()
        self._has_news = threading.Event()
        self._pollers = [
            threading.Thread(target=self._poll, args=(f"poller-{number}",), name=f"poller-{number}")
            for number in range(1, POLLERS + 1)
        ]

    def __enter__(self) -> Self:
        for thread in self._pollers:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._has_news.set()
        for thread in self._pollers:
            thread.join()
        self._pool.shutdown(cancel_futures=True)

    def wake(self) -> None:
        """Poll now instead of at the next interval."""
        self._has_news.set()

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """The dispatcher port: hand the job to a thread and do not wait for it."""
        self._pool.submit(self._work, handover)

    def _poll(self, name: str) -> None:
        poller = Poller(self._parts, self, worker_id=name)
        while not self._stopping.is_set():
            self._has_news.clear()
            try:
                poller.poll(should_stop=lambda: "stopping" if self._stopping.is_set() else None)
            except LeaseholdError as error:
                self._journal.say(f"{name}: {error}")
            self._has_news.wait(_INTERVAL_SECONDS)

    def _work(self, handover: Handover) -> None:
        try:
            self._worker.run(handover)
        except WorkerDied:
            self._journal.say(f"{handover.job_type}: its worker died; nobody knows yet")
        except Exception as error:
            self._journal.say(f"{handover.job_type}: the worker itself failed: {type(error).__name__}: {error}")
        self.wake()
