"""Eight pollers, 200 jobs of ten keys, three at once per key: never more, all end, and no seat is left behind."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, Enqueued, JobStatus, JobType, NewJob, Worker
from leasehold.kernel.poll import Poller
from leasehold.limits.model import key_scope
from tests.concurrency.race import at_once
from tests.real_queue import RealQueue
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.ports import Handover

POLLERS, JOBS, KEYS, AT_ONCE = 8, 200, 10, 3
# One of twelve hand-overs is lost with its worker: its job comes back through its lease.
LOST_OF = 12
PATIENCE_SECONDS = 200.0
LIMITED = JobType(name="count", concurrency_per_key=AT_ONCE, max_attempts=3)

pytestmark = [pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(240)]


class Nothing(BaseModel):
    pass


class Noop(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Nothing

    def handle(self, payload: BaseModel) -> None:
        return


class Crowd:
    """Handlers in a thread pool. It counts how many jobs of each key are claimed and have not ended, as limits do."""

    def __init__(self, deployed: RealQueue) -> None:
        self.key_of: dict[str, str] = {}
        self.under_way: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.completed = 0
        self.workers_lost = 0
        self._deployed = deployed
        self._inbox: list[Handover] = []
        self._lost: list[Handover] = []
        self._lock = threading.Lock()
        self._random_source = random.Random(4)
        self._worker = Worker(deployed.process(), {"count": Noop}, worker_id="crowd", limit_time=False)

    def dispatch(self, handover: Handover, function: str | None) -> None:
        with self._lock:
            key = self.key_of[handover.job_id]
            self.under_way[key] += 1
            self.most[key] = max(self.most[key], self.under_way[key])
            self._inbox.append(handover)

    def take(self) -> list[Handover]:
        with self._lock:
            taken, self._inbox = self._inbox, []
        return taken

    def run(self, handover: Handover) -> None:
        with self._lock:
            is_lost = self._random_source.randrange(LOST_OF) == 0
            if is_lost:
                self.workers_lost += 1
                self._lost.append(handover)
                return
            # Before its end is written: from then on another claim may have the seat.
            self.under_way[self.key_of[handover.job_id]] -= 1
        assert self._worker.run(handover) == "completed"
        with self._lock:
            self.completed += 1

    def let_leases_end(self) -> None:
        for handover in self.take():
            self.run(handover)
        self._deployed.clock.advance(LIMITED.full_lease)
        for handover in self._lost:
            self.under_way[self.key_of[handover.job_id]] -= 1
        self._lost.clear()


def test_eight_pollers_never_run_more_than_three_of_a_key_and_leave_no_seat_behind(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    deployed = RealQueue(make_client(dynoxide_endpoint), [LIMITED])
    crowd = Crowd(deployed)
    keys = [str(n % KEYS) for n in range(JOBS)]
    made = deployed.queue.enqueue_many(NewJob(job="count", payload={}, concurrency_key=key) for key in keys)
    crowd.key_of = {each.job_id: key for each, key in zip(made, keys, strict=True) if isinstance(each, Enqueued)}
    pollers = [Poller(deployed.process(), crowd, worker_id=f"poller-{n}") for n in range(POLLERS)]
    at_once([poller.poll for poller in pollers])
    assert set(crowd.most.values()) == {AT_ONCE}, "every key's seats are taken before any job runs"

    give_up_at = time.monotonic() + PATIENCE_SECONDS
    rounds = 0
    with ThreadPoolExecutor(8, thread_name_prefix="handler") as handlers:
        while crowd.completed < JOBS:
            assert time.monotonic() < give_up_at, f"{crowd.completed} of {JOBS} ended"
            # Jobs end while all pollers look for more of them.
            running = [handlers.submit(crowd.run, handover) for handover in crowd.take()]
            at_once([poller.poll for poller in pollers])
            for each in running:
                each.result()
            rounds += 1
            # Scopes look again, and lost workers' leases end, when time moves.
            deployed.clock.advance(timedelta(seconds=1))
            if rounds % 5 == 0:
                crowd.let_leases_end()

    print(f"\n{rounds} rounds, {crowd.workers_lost} workers lost, at most {max(crowd.most.values())} of a key at once")
    assert max(crowd.most.values()) == AT_ONCE
    assert crowd.workers_lost > JOBS // LOST_OF // 2
    stored = stored_jobs(deployed.services)
    assert Counter(job.status for job in stored) == {JobStatus.COMPLETED: JOBS}
    assert all(len(job.runs) == 1 for job in stored)
    left = {key: deployed.services.store.lines.scope(key_scope("count", key)).seats for key in keys}
    assert not any(left.values()), "a seat stayed taken after its job's end"
