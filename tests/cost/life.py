"""One job's life in steps, each of them metered: what DynamoDB bills for it, and how big the job was after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.end import Failure
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.payload import encode_payload
from leasehold.kernel.poll import Poller
from leasehold.runtime.lease import extend
from leasehold.runtime.signals import fail, snooze
from tests.meter import Meter, item_size
from tests.real_queue import Inbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from tests.real_queue import RealQueue

# What it is, and which of them: enough to find an invocation's log.
POLLER = "poller-4f1c9a27"
HANDLER = "handler-9d02b6e1"


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    writes: int
    units: float
    item_bytes: int


@dataclass
class Woken:
    """Keeps the scopes for which a poller was started, until one polls."""

    scopes: list[str] = field(default_factory=list)

    def __call__(self, scopes: Sequence[str]) -> None:
        self.scopes += scopes

    def take(self) -> list[FreedScope]:
        freed, self.scopes = self.scopes, []
        return [FreedScope(scope) for scope in freed]


class Life:
    """Each public method is one step; `steps` is what they cost."""

    def __init__(
        self,
        deployed: RealQueue,
        *,
        payload_bytes: int = 0,
        payload: dict[str, Json] | None = None,
        concurrency_key: str | None = None,
        webhook: str | None = None,
        is_woken: bool = True,
    ) -> None:
        self.steps: list[Step] = []
        self._deployed = deployed
        self._concurrency_key = concurrency_key
        self._webhook = webhook
        self._payload: dict[str, Json] = {"order_id": "o-20260101-000417", "note": ""}
        self._payload["note"] = "x" * (payload_bytes - len(encode_payload(self._payload)))
        if payload is not None:
            self._payload = payload
        self._meter = Meter(deployed.client)
        # As deployed: an end that frees a seat starts a poller by itself.
        self._woken = Woken()
        handler = deployed.process()
        handler.waker = self._woken if is_woken else handler.waker
        self._executor = Executor(handler, worker_id=HANDLER)
        self._inbox = Inbox()
        self._poller = Poller(deployed.process(), self._inbox, worker_id=POLLER)
        self._job_id: JobId | None = None
        self._attempt: Attempt | None = None
        self._occupant: Handover | None = None
        self._meter.take()

    @property
    def units(self) -> float:
        return sum(step.units for step in self.steps)

    def enqueue(self) -> None:
        self._enqueue(None)

    def enqueue_with_key(self) -> None:
        self._enqueue("o-20260101-000417")

    def call_in_a_burst(self) -> None:
        self._enqueue("o-20260101-000417", debounce=timedelta(seconds=30))

    def occupy(self) -> None:
        """Another job takes the seat: enqueued and claimed."""
        self._deployed.queue.enqueue("send_order_receipt", self._payload, concurrency_key=self._concurrency_key)
        self._poller.poll()
        self._occupant = self._inbox.handovers.pop()

    def vacate(self) -> None:
        """That other job starts and ends."""
        assert self._occupant is not None
        attempt = self._executor.begin(self._occupant)
        assert isinstance(attempt, Attempt)
        attempt.complete(None)

    def poll(self) -> None:
        self._poller.poll(hints=self._woken.take())

    def pause(self) -> None:
        self._deployed.operator.pause("send_order_receipt", reason="the printer is on fire")

    def unpause(self) -> None:
        self._deployed.operator.unpause("send_order_receipt")

    def start(self) -> None:
        attempt = self._executor.begin(self._inbox.handovers.pop())
        assert isinstance(attempt, Attempt)
        self._attempt = attempt

    def extend(self) -> None:
        extend(self._running)

    def complete(self) -> None:
        self._running.complete(None)

    def snooze(self) -> None:
        snooze(self._running, timedelta(minutes=2))

    def fail(self) -> None:
        fail(self._running, Failure(error="TimeoutError: no answer", code="TimeoutError"))

    def bury(self) -> None:
        fail(self._running, Failure(error="ValueError: no such order", code="ValueError", is_retryable=False))

    def cancel(self) -> None:
        assert self._job_id is not None
        self._deployed.queue.cancel(self._job_id, reason="the order was cancelled")

    def take(self, step: str) -> None:
        """Do one step by its name, when what came before it has become due."""
        is_soon = step != "poll" or self._occupant is not None
        self._deployed.clock.advance(timedelta(seconds=1) if is_soon else timedelta(minutes=5))
        self._meter.take()
        getattr(self, step)()
        reading = self._meter.take()
        assert self._job_id is not None or step in {"pause", "occupy"}
        size = item_size(self._deployed.item(self._job_id)) if self._job_id else 0
        # A refused write is billed like a done one; the items here are within 1 KB, so that is one unit.
        self.steps.append(Step(step, reading.writes, reading.write_units + reading.refusals.total(), size))

    def _enqueue(self, dedup_key: str | None, debounce: timedelta | None = None) -> None:
        enqueued = self._deployed.queue.enqueue(
            "send_order_receipt",
            self._payload,
            dedup_key=dedup_key,
            debounce=debounce,
            concurrency_key=self._concurrency_key,
            webhook=self._webhook,
        )
        self._job_id = enqueued.job_id

    @property
    def _running(self) -> Attempt:
        assert self._attempt is not None
        return self._attempt
