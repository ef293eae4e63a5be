"""A whole system on one table: the same scenario runs on every store."""

from __future__ import annotations

import zlib
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobStatus, JobType, Operator, Queue, Registry, Worker
from leasehold.features import Store
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.poll import Poller
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.retry import Exponential, Fixed
from leasehold.kernel.services import Services
from leasehold.kernel.type_options import DELIVERY
from leasehold.testing import FakeClock, Recorder, SeededRandomSource
from leasehold.testing.recorder import Told, receiver
from leasehold.webhooks.model import delivery_type
from tests.contract.handlers import Script, scripted

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.kernel.execute import Execution
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Table

RETRY_DELAY = timedelta(seconds=30)

TYPES = (
    JobType(name="report", retry=Fixed(RETRY_DELAY), max_attempts=3),
    JobType(name="email", retry=Exponential(jitter=0)),
    JobType(name="once", max_attempts=1),
    JobType(name="limited", concurrency=2),
)


class Dispatches:
    """A dispatcher that collects hand-overs, or fails as long as `failure` is set."""

    def __init__(self) -> None:
        self.handovers: list[Handover] = []
        self.failure: str | None = None

    def dispatch(self, handover: Handover, function: str | None) -> None:
        if self.failure is not None:
            raise DispatchError(self.failure)
        self.handovers.append(handover)


class World:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.store = Store(table)
        self.clock = FakeClock()
        self.recorder = Recorder()
        # Another seed on every table: a server remembers request tokens, which are made by chance, across all of them.
        random_source = SeededRandomSource(zlib.crc32(table.name.encode()))
        self.services = Services(
            store=self.store, clock=self.clock, random_source=random_source, telemetry=self.recorder
        )
        self.act_as("ada")
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        self.script = Script()
        self.told: list[Told] = []
        self.deploy(*TYPES)
        self.dispatches = Dispatches()
        self.poller = Poller(self.services, self.dispatches, worker_id="poller")
        handler = scripted(self.script)
        # The handlers outlive their deployment, as a Lambda does that is still running when its type is removed.
        handlers = {**dict.fromkeys([*self.types, "newcomer"], handler), DELIVERY: receiver(self.told)}
        self.worker = Worker(self.services, handlers, worker_id="worker", limit_time=False)

    def act_as(self, name: str) -> None:
        """Whatever is done from now on is done by somebody else."""
        self.services.identity = KnownIdentity(name)

    def deploy(self, *types: JobType, with_webhooks: bool = True) -> None:
        self.types = {each.name: each for each in types}
        systems = {DELIVERY: delivery_type()} if with_webhooks else {}
        self.operator.publish(Registry(types={**self.types, **systems}))

    def poll(self) -> PollReport:
        return self.poller.poll()

    def claim(self) -> list[Handover]:
        """Poll, and take the hand-overs that came of it."""
        self.poll()
        taken, self.dispatches.handovers = self.dispatches.handovers, []
        return taken

    def claim_one(self) -> Handover:
        (handover,) = self.claim()
        return handover

    def work(self) -> list[Execution]:
        """Poll, and run every hand-over that came of it."""
        return [self.worker.run(handover) for handover in self.claim()]

    def work_until_ended(self, job_id: str) -> Job:
        """Let time pass and run whatever is due, until the job has ended."""
        for _ in range(50):
            self.work()
            job = self.queue.get(job_id)
            if job.has_ended:
                return job
            self.clock.advance(RETRY_DELAY)
        raise AssertionError(f"{job_id} has not ended: {self.queue.get(job_id)}")

    def job(self, job_id: str) -> Job:
        return self.queue.get(job_id)

    def status(self, job_id: str) -> JobStatus:
        return self.queue.get(job_id).status

    def let_lease_expire(self, job_id: str) -> None:
        until = self.queue.get(job_id).lock_expires_at
        assert until is not None
        self.clock.move_to(until)
