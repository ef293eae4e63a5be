"""Queues for unit tests: in memory with a spy on every call, or on a DynamoDB client that refuses to write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from leasehold.features import Store
from leasehold.kernel import partitions
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.job_type import JobType
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.registry import Registry
from leasehold.kernel.registry_records import registry_record
from leasehold.kernel.services import Services
from leasehold.operate.operator import Operator
from leasehold.operate.registration import register
from leasehold.queue import Queue
from leasehold.testing import FakeClock, SeededRandomSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.table import Change, ForeignItem, Key, Page, Record

DEPLOYED = Registry(types={name: JobType(name=name) for name in ("user_sync", "daily_summary")})


class SpyTable(MemoryTable):
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__("spied")
        self.reads: list[str] = []
        self.writes: list[object] = []

    def get(self, key: Key) -> Record | None:
        self.reads.append("/".join(key.values))
        return super().get(key)

    def query(self, *args: Any, **options: Any) -> Page:
        self.reads.append(args[1])
        return super().query(*args, **options)

    def write(self, change: Change) -> Record:
        self.writes.append(change)
        return super().write(change)

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()) -> None:
        self.writes.append(changes)
        super().transact(changes, token=token, foreign=foreign)


def spied_queue(registry: Registry | None = DEPLOYED, *, clock: FakeClock | None = None) -> tuple[Queue, SpyTable]:
    """A queue on a spied table that has seen nothing but its deployment, and has forgotten that."""
    table = SpyTable()
    queue = Queue(Services(store=Store(table), clock=clock or FakeClock(), random_source=SeededRandomSource()))
    if registry is not None:
        Operator(queue.services).publish(registry)
    table.reads.clear()
    table.writes.clear()
    return queue, table


class ReadOnlyClient:
    """A DynamoDB client that knows registry and halt; whatever else it is asked to do fails the test."""

    def __init__(self, switches: Sequence[Record]) -> None:
        self._switches = [to_item(switch) for switch in switches]

    def get_item(self, **request: Any) -> dict[str, Any]:
        assert request["Key"] == to_item(partitions.control(partitions.REGISTRY).attributes)
        return {"Item": to_item(registry_record(DEPLOYED))}

    def query(self, **request: Any) -> dict[str, Any]:
        assert request["ExpressionAttributeValues"][":0"] == {"S": partitions.CONTROL}
        return {"Items": self._switches}

    def __getattr__(self, operation: str) -> Any:
        raise AssertionError(f"{operation} was called")


def read_only_dynamo_queue(*, halted_by: str | None = None, reason: str = "") -> Queue:
    names = TableNames(jobs="jobs", dead_letters="dead-letters")
    halt: Record = {
        "PK": "control",
        "SK": "halt",
        "by": halted_by or "",
        "at": "2026-01-01T00:00:00Z",
        "reason": reason,
    }
    client = ReadOnlyClient([halt] if halted_by else [])
    table = DynamoTable(cast("DynamoDBClient", client), names)
    return Queue(Services(store=Store(table), clock=FakeClock(), random_source=SeededRandomSource()))


def require_reasons(services: Services) -> None:
    """Deploy what is deployed once more, with reasons for what is done by hand."""
    asking = replace(services.deployment.registry(), require_reasons=True)
    register(asking, services.store, services.clock.now(), token="reasons")
    services.deployment.forget()
