"""One simulated world: tables, processes, networks, people, and what a seed lets happen to them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.keys import JobId, key_of
from leasehold.kernel.table import DEAD_LETTERS, JOBS
from leasehold.kernel.type_options import DELIVERY
from leasehold.testing.recorder import Told, receiver
from tests.simulation.coverage import Coverage
from tests.simulation.deployments import TYPES, registry_of
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.wire import connect_to, let_go
from tests.simulation.faults import Fault
from tests.simulation.fleet import Fleet
from tests.simulation.floor import Floor
from tests.simulation.functions import Functions
from tests.simulation.handlers import WorkHandler
from tests.simulation.kernel import Kernel, current_process
from tests.simulation.limits import Limits
from tests.simulation.network import Network
from tests.simulation.streams import Streams
from tests.simulation.trace import Trace
from tests.simulation.watch import Watch
from tests.tables import creation_request

if TYPE_CHECKING:
    from datetime import timedelta

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.registry import Registry
    from leasehold.operate.failure_report import FailureReport
    from leasehold.runtime.handler import BaseJobHandler
    from tests.simulation.plan import Plan
    from tests.simulation.process import Process

NAMES = TableNames(jobs="jobs", dead_letters="letters")
_ORDERS = {
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
_told: list[Told] = []
_HANDLERS: dict[str, type[BaseJobHandler]] = {**dict.fromkeys(TYPES, WorkHandler), DELIVERY: receiver(_told)}


class World:
    def __init__(self, seed: int, plan: Plan) -> None:
        self.seed = seed
        self.plan = plan
        self.names = NAMES
        self.random_source = Random(f"world {seed}")
        self.kernel = Kernel(Random(f"kernel {seed}"))
        self.trace = Trace(self.kernel)
        self.coverage = Coverage()
        self.reporter = _Reporter(self)
        self.handlers = _HANDLERS
        self.registry = registry_of(plan)
        self.limits = Limits()
        self.limits.expect(self.registry)
        # What was promised: jobs that were acknowledged, and what operators were told is done, by its reason.
        self.acknowledged: dict[str, None] = {}
        self.done: dict[str, str] = {}
        self.reasons = 0
        self.has_timeouts = False
        self.had_no_webhooks = False
        self.database = Database(lambda: self.kernel.now)
        self.streams = Streams(self)
        self.watch = Watch(NAMES, self.limits, self.coverage, self.streams.note)
        self.database.on_change = self.watch.on_change
        self.network = Network(self, Random(f"network {seed}"))
        self.database.index_lag = self._lag
        self.fleet = Fleet(self)
        self.floor = Floor(self)
        self.functions = Functions(self)
        self.start = self.functions.start
        self._clients: list[DynamoDBClient] = []
        self.database.call("CreateTable", creation_request(JOBS, NAMES.jobs))
        self.database.call("CreateTable", creation_request(DEAD_LETTERS, NAMES.dead_letters))
        self.database.call("CreateTable", dict(_ORDERS))

    def connect(self) -> DynamoDBClient:
        """A client of one process: its retries wait in virtual time, and have a quota of their own."""
        client = connect_to(self._deliver, sleep=self.kernel.sleep, random_source=self.random_source.random)
        self._clients.append(client)
        return client

    def _deliver(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self.network.call(operation, request)

    def close(self) -> None:
        self.kernel.close()
        while self._clients:
            let_go(self._clients.pop())
        _told.clear()

    def remove_ended(self) -> None:
        """What DynamoDB removes after its retention; not what invariants ask about: of groups, and of webhooks."""
        # Whose clock is behind dates it too early. DynamoDB takes up to days, and no clock is wrong by so much.
        now = int(self.kernel.now.timestamp() - 2 * self.plan.skew)
        for key, job in list(self.watch.mirror.jobs.items()):
            is_asked_about = "group_id" in job or "webhook" in job or '"group":{' in str(job["payload"])
            if job.get("expires_at", now) < now and job["status"] != "dead_letter" and not is_asked_about:
                self.database.remove(self.names.jobs, key)

    def deploy(self, registry: Registry, process: Process) -> None:
        """Publish what is deployed, and start new containers."""
        self.limits.expect(registry)
        process.operator.publish(registry)
        self.registry = registry
        self.had_no_webhooks |= DELIVERY not in registry.types
        self.fleet.redeploy()

    def timeout_of(self, job_type: str) -> timedelta:
        """How long an invocation may live. What starts before its jobs' own time is no part of the model."""
        return self.limits.types[job_type].longest_run

    def acknowledge(self, result: Enqueued) -> None:
        self.acknowledged[result.job_id] = None

    def state_of_job(self, job_id: str | None) -> str:
        return (self.watch.mirror.status_of(key_of(JobId(job_id))) or "absent") if job_id else "-"

    def payload_of(self, job_id: str) -> str:
        jobs = self.watch.mirror.jobs.values()
        return next((str(job["payload"]) for job in jobs if job["job_id"] == job_id), "")

    def is_resolved_by(self, dead_letter: str, reason: str) -> bool:
        return self.watch.mirror.dead_letters[dead_letter].get("resolved_reason") == reason

    def counted(self, effect: str) -> dict[str, Any]:
        """An effect outside the queue that shows how often it happened."""
        return {
            "Update": {
                "TableName": "orders",
                "Key": {"id": {"S": effect}},
                "UpdateExpression": "ADD times :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
        }

    def _lag(self) -> int:
        if self.network.draw((Fault.STALE_INDEX,)) is None:
            return 0
        self.coverage.cells[Fault.STALE_INDEX, "Query", "-"] += 1
        self.trace.note(current_process().invocation.worker_id, f"an index is {self.plan.stale_by} changes behind")  # type: ignore[union-attr]
        return self.random_source.randint(1, self.plan.stale_by)


class _Reporter:
    """Takes most reports."""

    is_on = True

    def __init__(self, world: World) -> None:
        self._world = world

    def report(self, report: FailureReport) -> bool:
        is_calm = self._world.kernel.seconds >= self._world.plan.calm_at
        return is_calm or self._world.random_source.random() < 0.8
