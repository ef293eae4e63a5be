"""A site in this process: the same botocore clients on the simulation's model of DynamoDB, ten times as fast."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.crash.faults import Wire
from tests.crash.ledger import Ledger
from tests.crash.world import Site, create_users_table
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.wire import connect_to, renew

if TYPE_CHECKING:
    from tests.crash.world import World

# Tokens of transactions are remembered for as long as a world lasts: a copy that comes later than that has none.
_ALWAYS = datetime(2026, 1, 1, tzinfo=UTC)


def _new_database() -> Database:
    return Database(lambda: _ALWAYS)


@dataclass
class ModelSite(Site):
    database: Database = field(default_factory=_new_database)

    @classmethod
    def make(cls) -> ModelSite:
        ledger = Ledger()

        def deliver(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            return site.database.call(operation, request)

        healthy, faulty = connect_to(deliver), connect_to(deliver)
        Wire(healthy, ledger)
        site = cls(healthy=healthy, faulty=faulty, wire=Wire(faulty, ledger), ledger=ledger)
        return site

    def world(self) -> World:
        """Every world has a database of its own, so that thousands of them take no memory."""
        self.database = _new_database()
        for client in (self.healthy, self.faulty):
            renew(client)
        create_users_table(self.healthy)
        return super().world()
