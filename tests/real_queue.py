"""A queue on a pair of fresh tables of a real engine, seen by as many processes as a test wants."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leasehold.features import Store
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.keys import key_of
from leasehold.kernel.registry import Registry
from leasehold.kernel.services import Services
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.testing import FakeClock, Recorder
from leasehold.webhooks.model import delivery_type
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Handover


@dataclass
class RealQueue:
    """Time stands still unless the test moves it, so no lease and no cache depends on how fast the machine is."""

    client: DynamoDBClient
    types: Iterable[JobType]
    ended_index: bool = True
    concurrency: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"q{uuid.uuid4().hex[:10]}")
    clock: FakeClock = field(default_factory=FakeClock)
    names: TableNames = field(init=False)
    telemetry: Recorder = field(default_factory=Recorder)

    def __post_init__(self) -> None:
        self.names = TableNames(jobs=f"{self.name}-jobs", dead_letters=f"{self.name}-dead-letters")
        create_tables(self.client, self.names)
        self.services = self.process()
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        self.operator.publish(
            Registry(
                types={each.name: each for each in (*self.types, delivery_type())},
                ended_index=self.ended_index,
                concurrency=self.concurrency,
                resources=self.resources,
            )
        )

    def process(self) -> Services:
        """The parts of one more process: it shares the tables and the time with the others, and nothing else."""
        return Services(store=Store(DynamoTable(self.client, self.names)), clock=self.clock, telemetry=self.telemetry)

    def job(self, job_id: JobId) -> Job:
        job = self.services.store.jobs.get(job_id)
        assert job is not None
        return job

    def item(self, job_id: JobId) -> dict[str, Any]:
        """The whole stored item, as DynamoDB has it."""
        pk, sk = key_of(job_id)
        key = {"PK": {"S": pk}, "SK": {"S": sk}}
        return dict(self.client.get_item(TableName=self.names.jobs, Key=key, ConsistentRead=True)["Item"])


@dataclass
class Inbox:
    """A dispatcher that keeps every hand-over for the test to deliver."""

    handovers: list[Handover] = field(default_factory=list)

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.handovers.append(handover)
