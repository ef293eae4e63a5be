"""Direct runs among pollers: while one runs, no job of its type does, whoever polls."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext, JobStatus, JobType, Queue, Worker
from leasehold.kernel.poll import Poller
from leasehold.kernel.registry import Switches
from leasehold.kernel.type_options import type_scope
from leasehold.testing import FakeClock
from tests.concurrency.race import at_once
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.ports import Handover

pytestmark = [pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(150)]

SEATS, JOBS, POLLERS, CALLERS, RUNS_EACH = 3, 30, 4, 2, 3
# No lease and no patience ends while the clock hurries on.
TYPE = JobType(name="story", concurrency=SEATS, timeout=timedelta(hours=10))
PATIENCE = timedelta(hours=1)


class RestlessClock(FakeClock):
    """Who sleeps lets the others work; a second passes for everybody."""

    def sleep(self, duration: timedelta) -> None:
        time.sleep(0.002)
        self.advance(min(duration, timedelta(seconds=1)))


class Floor:
    """Who is at work, and whoever met somebody that it must not meet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: set[str] = set()
        self._direct: set[str] = set()
        self.some_job_runs = threading.Event()
        self.most_jobs = 0
        self.direct_runs = 0
        self.clashes: list[tuple[str, set[str]]] = []

    @contextmanager
    def working(self, name: str) -> Iterator[None]:
        is_direct = name.startswith("direct-")
        mine = self._direct if is_direct else self._jobs
        with self._lock:
            others = self._direct | self._jobs if is_direct else self._direct
            if others:
                self.clashes.append((name, set(others)))
            mine.add(name)
            self.direct_runs += is_direct
            self.most_jobs = max(self.most_jobs, len(self._jobs))
            if not is_direct:
                self.some_job_runs.set()
        try:
            yield
        finally:
            with self._lock:
                mine.discard(name)
                if not self._jobs:
                    self.some_job_runs.clear()


class Nothing(BaseModel):
    pass


def handler_on(floor: Floor) -> type[BaseJobHandler]:
    class Story(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Nothing

        def handle(self, payload: BaseModel, context: JobContext) -> str:
            with floor.working(context.job_id):
                # Longer than it takes to reserve and to ask: who does not wait is seen.
                time.sleep(0.1)
            return context.job_id

    return Story


class Functions:
    """Lambda: each invocation is a process of its own, with caches of its own."""

    def __init__(self, deployed: RealQueue, floor: Floor) -> None:
        self._deployed = deployed
        self._handlers = {TYPE.name: handler_on(floor)}
        self._pool = ThreadPoolExecutor(2 * SEATS, thread_name_prefix="handler")

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._pool.submit(lambda: self._worker().run(handover))

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        return self._worker().run_directly(run)

    def close(self) -> None:
        self._pool.shutdown()

    def _worker(self) -> Worker:
        return Worker(self._deployed.process(), self._handlers, worker_id="worker", limit_time=False)


@pytest.mark.parametrize("knows", [True, False], ids=["told", "untold"])
def test_no_job_of_a_limited_type_runs_beside_a_direct_run_even_if_nobody_knows_of_the_reservation(
    knows: bool,
    dynoxide_endpoint: str,
    make_client: Callable[[str], DynamoDBClient],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not knows:
        # Pollers and handlers whose caches are older than any reservation.
        monkeypatch.setattr(Switches, "reserved_until", lambda *_: None)
    deployed = RealQueue(make_client(dynoxide_endpoint), [TYPE], clock=RestlessClock())
    floor = Floor()
    functions = Functions(deployed, floor)
    jobs = [deployed.queue.enqueue(TYPE.name).job_id for _ in range(JOBS)]
    is_over = threading.Event()

    def poll() -> list[object]:
        poller = Poller(deployed.process(), functions, worker_id=f"poller-{threading.get_ident()}")
        while not is_over.is_set():
            poller.poll()
            deployed.clock.sleep(timedelta(seconds=1))
        return []

    def call() -> list[object]:
        services = deployed.process()
        services.caller = functions
        results: list[object] = []
        for _ in range(RUNS_EACH):
            while not floor.some_job_runs.wait(timeout=0.1) and not is_over.is_set():
                pass
            results.append(Queue(services).run_now(TYPE.name, timeout=PATIENCE))
        return results

    def watch() -> list[object]:
        deadline = time.monotonic() + 90
        while any(not deployed.job(job_id).has_ended for job_id in jobs) and time.monotonic() < deadline:
            time.sleep(0.05)
        is_over.set()
        return []

    answers = at_once([*[poll] * POLLERS, *[call] * CALLERS, watch])
    functions.close()

    assert floor.clashes == []
    assert floor.direct_runs == len({each for results in answers for each in results}) == CALLERS * RUNS_EACH
    assert 1 <= floor.most_jobs <= SEATS
    ended = [deployed.job(job_id) for job_id in jobs]
    assert {(job.status, len(job.runs)) for job in ended} == {(JobStatus.COMPLETED, 1)}
    assert deployed.services.store.control.switches().reservations == {}
    assert deployed.services.store.lines.scope(type_scope(TYPE.name)).seats == {}
