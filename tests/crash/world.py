"""One queue on its own tables, the processes that work on it, and what they did to the world outside."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from leasehold.batches.model import Batch
from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.features import Store
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Fixed
from leasehold.kernel.services import Services
from leasehold.kernel.table import DEAD_LETTERS, JOBS
from leasehold.kernel.type_options import DELIVERY, OnFull
from leasehold.limits.model import Rate
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.runtime.worker import Worker
from leasehold.testing.clock import FakeClock, SeededRandomSource
from leasehold.testing.recorder import Recorder, Told, receiver
from leasehold.webhooks.model import delivery_type
from tests.crash.handlers import handler_in
from tests.tables import creation_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.execute import Execution
    from leasehold.kernel.ports import Handover
    from tests.crash.faults import Wire
    from tests.crash.harness import Course
    from tests.crash.ledger import Ledger

USERS_TABLE = "crash-orders"
BATCH = 3
_RETRY = Fixed(timedelta(seconds=30))
_BREAKER = CircuitBreaker(failure_rate=0.6, min_runs=2, probe_after=timedelta(seconds=10))
TYPES = {
    each.name: each
    for each in (
        JobType(name="work", max_attempts=3, retry=_RETRY),
        JobType(name="limited", max_attempts=3, retry=_RETRY, concurrency=1),
        JobType(name="keyed", max_attempts=3, retry=_RETRY, concurrency_per_key=1),
        JobType(name="double", max_attempts=3, retry=_RETRY, concurrency=1, concurrency_per_key=1),
        JobType(name="rated", max_attempts=3, retry=_RETRY, rate=Rate(1, timedelta(minutes=1))),
        JobType(name="skipping", max_attempts=3, retry=_RETRY, concurrency=1, on_full=OnFull.SKIP),
        JobType(name="refusing", max_attempts=3, retry=_RETRY, concurrency=1, on_full=OnFull.CANCEL_NEW),
        JobType(name="beating", max_attempts=3, retry=_RETRY, lease=timedelta(seconds=15), heartbeat=True),
        JobType(name="breaking", max_attempts=3, retry=_RETRY, breaker=_BREAKER),
        JobType(name="together", max_attempts=3, retry=_RETRY, batch=Batch(size=BATCH)),
    )
}


def create_users_table(client: DynamoDBClient) -> None:
    """The caller's own table, next to ours."""
    client.create_table(
        TableName=USERS_TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )


@dataclass
class Site:
    """What all worlds of a test process share: two clients, one of which can be made to fail."""

    healthy: DynamoDBClient
    faulty: DynamoDBClient
    wire: Wire
    ledger: Ledger
    # Names, and seeds of chance: no two processes of any world may make the same ids and tokens.
    numbers: count[int] = field(default_factory=count)
    courses: dict[str, Course] = field(default_factory=dict)

    def world(self) -> World:
        number = next(self.numbers)
        names = TableNames(jobs=f"crash-jobs-{number}", dead_letters=f"crash-dead-{number}")
        # Usable at once on this engine: no waiting, and nothing here lives long enough to expire.
        self.healthy.create_table(**creation_request(JOBS, names.jobs))
        self.healthy.create_table(**creation_request(DEAD_LETTERS, names.dead_letters))
        world = World(self, names)
        world.elsewhere.operator.publish(Registry(types={**TYPES, DELIVERY: delivery_type()}))
        return world


class World:
    def __init__(self, site: Site, names: TableNames) -> None:
        self.site = site
        self.names = names
        self.clock = FakeClock()
        self.executions: Counter[str] = Counter()
        self.told: list[Told] = []
        self.acknowledged: list[str] = []
        self.handovers: list[Handover] = []
        self.healthy: list[Process] = []
        # Copies of a dead process's last call that are still on their way.
        self.late: list[Callable[[], object]] = []
        # Where everything happens that is not under test.
        self.elsewhere = self.process()

    def process(self, client: DynamoDBClient | None = None) -> Process:
        """A new process: its own ids, tokens and caches, nothing in memory of those before it."""
        made = Process(self, client or self.site.healthy, seed=next(self.site.numbers))
        if client is None:
            self.healthy.append(made)
        return made

    def subject(self) -> Process:
        """The process that the faults hit."""
        return self.process(self.site.faulty)

    def enqueue(self, mode: str = "result", job_type: str = "work", **options: Any) -> str:
        """Enqueue in good health; the job must end, whatever is done to it later."""
        job_id = self.elsewhere.queue.enqueue(job_type, {"mode": mode}, **options).job_id
        self.acknowledged.append(job_id)
        return job_id

    def claim(self) -> Handover:
        """Have what is due claimed by a poller whose hand-overs reach nobody, and return the last of them."""
        self.elsewhere.poller(self.handovers.append).poll()
        return self.handovers[-1]

    def run(self, handover: Handover) -> Execution:
        """A handler elsewhere, in good health."""
        return self.elsewhere.worker.run(handover)

    def run_batch(self, handovers: Sequence[Handover]) -> object:
        return self.elsewhere.worker.run_batch(handovers)

    def deliver_late(self) -> None:
        if self.late:
            with suppress(DispatchError):
                self.late.pop()()

    def counted(self, job_id: str) -> dict[str, Any]:
        """An effect outside the queue that shows how often it happened."""
        return {
            "Update": {
                "TableName": USERS_TABLE,
                "Key": {"id": {"S": job_id}},
                "UpdateExpression": "ADD times :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
        }

    def times(self, effect: str) -> int:
        item = self.site.healthy.get_item(TableName=USERS_TABLE, Key={"id": {"S": effect}}).get("Item", {})
        return int(item["times"]["N"]) if item else 0


class Process:
    def __init__(self, world: World, client: DynamoDBClient, *, seed: int) -> None:
        self.world = world
        self.client = client
        self.telemetry = Recorder()
        self.services = Services(
            store=Store(DynamoTable(client, world.names, sleep=_no_time)),
            clock=world.clock,
            random_source=SeededRandomSource(seed),
            telemetry=self.telemetry,
        )
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        # As long as a Lambda's log stream name: tokens must not be cut off within it.
        self.name = f"2026/01/01/[$LATEST]{seed:032x}"
        handlers = {**dict.fromkeys([*TYPES, "new"], handler_in(world)), DELIVERY: receiver(world.told)}
        self.worker = Worker(self.services, handlers, worker_id=self.name, limit_time=False)

    def poller(self, deliver: Callable[[Handover], object] | None = None, *, poll_limit: int = 25) -> Poller:
        """By default hand-overs go to a healthy handler elsewhere, by a call that counts like every other."""
        settings = PollSettings(poll_limit=poll_limit)
        return Poller(self.services, _Dispatcher(self, deliver), worker_id=self.name, settings=settings)


class _Dispatcher:
    def __init__(self, process: Process, deliver: Callable[[Handover], object] | None) -> None:
        self._process = process
        self._deliver = deliver

    def dispatch(self, handover: Handover, function: str | None) -> None:
        deliver = self._deliver or self._process.world.run
        self._invoke(lambda: deliver(handover))

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        def deliver() -> None:
            if self._deliver is None:
                self._process.world.run_batch(handovers)
            else:
                for each in handovers:
                    self._deliver(each)

        self._invoke(deliver)

    def _invoke(self, deliver: Callable[[], object]) -> None:
        world = self._process.world
        if self._process.client is world.site.faulty:
            world.site.wire.invoke(deliver)
        else:
            deliver()


def _no_time(_seconds: float) -> None:
    """Retries take no time, so that a run with a fault can be compared with one without."""


def unreachable(handover: Handover) -> None:
    raise DispatchError("no handler is there")
