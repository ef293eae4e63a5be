"""A DynamoDB in this process: one operation at a time, no clock and no chance of its own.

`Database.call` takes and gives what stands on DynamoDB's JSON wire, so binary values are base64 text. It keeps what it
is given and gives what it keeps: neither side may change a request or an answer afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb import reads, transactions, writes
from tests.simulation.dynamodb.capacity import Bill, Units
from tests.simulation.dynamodb.definitions import create_table, describe, set_time_to_live
from tests.simulation.dynamodb.refusal import Refusal, invalid, no_such_table
from tests.simulation.dynamodb.statements import prepare_statements, statement_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from tests.simulation.dynamodb.table import Plan, Table
    from tests.simulation.dynamodb.values import Item
    from tests.simulation.dynamodb.writes import Write

type Request = dict[str, Any]
type Answer = dict[str, Any]

_RETURNS = {
    "PutItem": frozenset({"NONE", "ALL_OLD"}),
    "DeleteItem": frozenset({"NONE", "ALL_OLD"}),
    "UpdateItem": frozenset({"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}),
}
_SINGLE_WRITES = {"PutItem": writes.put, "DeleteItem": writes.delete, "UpdateItem": writes.update}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A committed change of one item, as a stream tells it."""

    table: str
    keys: Item
    old: Item | None
    new: Item | None
    sequence: int
    at: datetime
    # Deleted by time to live, not by anybody's call.
    expired: bool = False


class Database:
    """index_lag: asked at each query of an index; that many of the index's latest changes are not visible to it.
    read_lag: the same for reads of a table that do not ask for consistency.
    on_change: told of every change that alters an item.
    units: what all calls have cost so far.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.tables: dict[str, Table] = {}
        self.units = Units()
        self.index_lag: Callable[[], int] | None = None
        self.read_lag: Callable[[], int] | None = None
        self.on_change: Callable[[Change], None] | None = None
        self._tokens = transactions.Tokens(now)
        self._sequence = 0

    def call(self, operation: str, request: Request) -> Answer:
        match operation:
            case "GetItem":
                bill = self._bill()
                return {
                    **reads.get_item(self._table(request), request, bill, self._lag(request)),
                    **bill.single(request),
                }
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._write(operation, request)
            case "Query":
                return reads.query(self._table(request), request, self._bill(), self._lag(request))
            case "Scan":
                return reads.scan(self._table(request), request, self._bill(), self._lag(request))
            case "BatchGetItem":
                return self._batch_get(request)
            case "TransactWriteItems" | "ExecuteTransaction":
                return self._transact(request)
            case "BatchExecuteStatement":
                return self._statements(request)
            case "CreateTable":
                return create_table(self.tables, request, self._now())
            case "DescribeTable":
                return describe(self._table(request))
            case "UpdateTimeToLive":
                return set_time_to_live(self._table(request), request)
            case _:
                raise Refusal("UnknownOperationException", operation)

    def expire(self) -> int:
        """Delete what is past its time to live, as DynamoDB does some time later; returns how many."""
        now = int(self._now().timestamp())
        gone = [
            table.plan(key, None)
            for table in self.tables.values()
            if table.ttl is not None
            for key, entry in table.items.items()
            if int(float(entry.item.get(table.ttl, {}).get("N", now))) < now
        ]
        for plan in gone:
            self._commit(plan, expired=True)
        return len(gone)

    def remove(self, table: str, key: tuple[str, str]) -> None:
        """Delete an item whose time is over, as `expire` does."""
        self._commit(self.tables[table].plan(key, None), expired=True)

    def _write(self, operation: str, request: Request) -> Answer:
        writes.refuse_unknown_returns(request, _RETURNS[operation])
        write = _SINGLE_WRITES[operation](self._table(request), request)
        bill = self._bill()
        plan = self._decide(write, bill)
        self._commit(plan)
        return {**writes.returned(request, plan), **bill.single(request)}

    def _decide(self, write: Write, bill: Bill) -> Plan:
        try:
            plan = write.decide()
        except Refusal as refusal:
            if refusal.code == "ConditionalCheckFailedException":
                bill.write(write.table.name, write.units_if_refused())
            raise
        bill.write(plan.table.name, plan.units)
        return plan

    def _batch_get(self, request: Request) -> Answer:
        wanted = request.get("RequestItems", {})
        for name in wanted:
            self._table({"TableName": name})
        lags = {name: self._lag(each) for name, each in wanted.items()}
        bill = self._bill()
        return {**reads.batch_get(self.tables, request, bill, lags), **bill.listed(request)}

    def _transact(self, request: Request) -> Answer:
        token = request.get("ClientRequestToken")
        if "TransactStatements" in request:
            items: Any = request["TransactStatements"]
            prepared = transactions.prepare_statements(items, self._find)
        else:
            items = request.get("TransactItems")
            prepared = transactions.prepare(items, self._table)
        bill = self._bill()
        if made := self._tokens.repeated(token, items):
            transactions.read_again(made, bill)
            return bill.of_transaction(request, "ReadCapacityUnits")
        plans = transactions.decide(prepared, bill)
        for plan in plans:
            self._commit(plan)
        self._tokens.remember(token, items, plans)
        return bill.of_transaction(request, "WriteCapacityUnits")

    def _statements(self, request: Request) -> Answer:
        bill = self._bill()
        responses = []
        for statement in prepare_statements(request, self._find):
            try:
                plan = self._decide(statement.write(), bill)
                self._commit(plan)
                responses.append(statement.answer(plan))
            except Refusal as refusal:
                responses.append(statement_error(refusal, statement.table))
        return {"Responses": responses, **bill.listed(request)}

    def _commit(self, plan: Plan, *, expired: bool = False) -> None:
        plan.table.commit(plan)
        new = plan.new_item
        if plan.old == new:
            return
        self._sequence += 1
        if self.on_change is not None:
            item = new or plan.old
            assert item is not None
            self.on_change(
                Change(
                    table=plan.table.name,
                    keys=plan.table.schema.key.part_of(item),
                    old=plan.old,
                    new=new,
                    sequence=self._sequence,
                    at=self._now(),
                    expired=expired,
                )
            )

    def _table(self, request: Request) -> Table:
        name = request.get("TableName")
        if not name:
            raise invalid("Value null at 'tableName' failed to satisfy constraint: Member must not be null")
        return self._find(name)

    def _find(self, name: str) -> Table:
        table = self.tables.get(name)
        if table is None:
            raise no_such_table()
        return table

    def _bill(self) -> Bill:
        return Bill(self.units)

    def _lag(self, request: Request) -> int:
        if request.get("IndexName") is not None:
            return self.index_lag() if self.index_lag else 0
        return self.read_lag() if self.read_lag and not request.get("ConsistentRead") else 0
