"""Requests as our adapter makes them, by its own functions, in random order on few items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from leasehold.kernel.dynamodb.expressions import (
    insert_statement,
    key_condition,
    to_item,
    update_statement,
    write_request,
)
from leasehold.kernel.table import DEAD_LETTERS, JOBS, Delete, Put, Update
from tests.simulation.dynamodb.agreement.population import Population, on_the_wire

if TYPE_CHECKING:
    from random import Random

    from leasehold.kernel.dynamodb.table import TableNames

type Call = tuple[str, dict[str, Any]]

_SINGLE = {Put: "PutItem", Update: "UpdateItem", Delete: "DeleteItem"}
_RETURNS = {Put: ("NONE", "ALL_OLD"), Update: ("NONE", "ALL_NEW", "ALL_OLD"), Delete: ("NONE", "ALL_OLD")}
_UPDATED = ("UPDATED_NEW", "UPDATED_OLD")
_CAPACITY = {"ReturnConsumedCapacity": "INDEXES"}


class Ordinary:
    def __init__(self, random_source: Random, names: TableNames) -> None:
        self._random_source = random_source
        self._names = names
        self.population = Population(random_source)
        self._cursors: list[dict[str, Any]] = []
        self._sent: list[dict[str, Any]] = []

    def call(self) -> Call:
        makers = [self._write] * 6 + [self._query] * 4 + [self._transact] * 3 + [self._batch] * 2
        makers += [self._statements] * 3 + [self._get, self._repeat, self._scan]
        operation, request = self._random_source.choice(makers)()
        return operation, on_the_wire(request)

    def remember(self, call: Call, answer: dict[str, Any]) -> None:
        """A page that has a next one may be asked for it later."""
        operation, request = call
        if operation == "Query" and "LastEvaluatedKey" in answer:
            self._cursors.append({**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]})

    def _write(self) -> Call:
        change = self.population.change(self.population.key(self.population.definition()))
        request = {"TableName": self._names.of(change.key.table), **write_request(change), **_CAPACITY}
        choices = _RETURNS[type(change)] + (_UPDATED if isinstance(change, Update) else ())
        return _SINGLE[type(change)], {**request, "ReturnValues": self._random_source.choice(choices)}

    def _get(self) -> Call:
        key = self.population.key(self.population.definition())
        request = {"TableName": self._names.of(key.table), "Key": to_item(key.attributes), **_CAPACITY}
        return "GetItem", {**request, "ConsistentRead": self._random_source.random() < 0.5}

    def _batch(self) -> Call:
        wanted: dict[str, Any] = {}
        for table in self._random_source.choice([(JOBS,), (DEAD_LETTERS,), (JOBS, DEAD_LETTERS)]):
            keys = dict.fromkeys(self.population.key(table) for _ in range(self._random_source.randrange(1, 9)))
            listed = [to_item(key.attributes) for key in keys]
            wanted[self._names.of(table)] = {"Keys": listed, "ConsistentRead": self._random_source.random() < 0.5}
        return "BatchGetItem", {"RequestItems": wanted, **_CAPACITY}

    def _query(self) -> Call:
        if self._cursors and self._random_source.random() < 0.4:
            return "Query", self._random_source.choice(self._cursors)
        table = self.population.definition()
        key = self.population.key(table)
        index = None if table is JOBS and self._random_source.random() < 0.3 else self.population.index(table)
        bounds = sorted((self.population.place(key)[:20], self.population.place(key)))
        names = (index.partition, index.sort) if index else (table.key[0], table.key[1])
        partition = self.population.lane(index) if index else key.values[0]
        first, last = (each if self._random_source.random() < 0.4 else None for each in bounds)
        where = (self.population.condition(),) if self._random_source.random() < 0.2 else ()
        forbidden = {*names}
        where = () if any(forbidden & _named(each) for each in where) else where
        request = {
            "TableName": self._names.of(table),
            **key_condition(names, partition, first, last, where),
            "Limit": self._random_source.choice([1, 2, 3, 25]),
            "ScanIndexForward": self._random_source.random() < 0.7,
            **_CAPACITY,
        }
        if self._random_source.random() < 0.2:
            request["Select"] = "COUNT"
        return "Query", {**request, "IndexName": index.name} if index else {**request, "ConsistentRead": True}

    def _scan(self) -> Call:
        return "Scan", {"TableName": self._names.of(self.population.definition()), "ConsistentRead": True, **_CAPACITY}

    def _transact(self) -> Call:
        keys = dict.fromkeys(self.population.key(self.population.definition()) for _ in range(3))
        changes = [self.population.change(key) for key in keys]
        kinds = {Put: "Put", Update: "Update", Delete: "Delete"}
        items = [
            {kinds[type(each)]: {"TableName": self._names.of(each.key.table), **write_request(each)}}
            for each in changes
        ]
        if self._random_source.random() < 0.2:
            items[0] = {"ConditionCheck": self._check()}
        request = {"TransactItems": items, "ClientRequestToken": self._token(), **_CAPACITY}
        self._sent.append(request)
        return "TransactWriteItems", request

    def _token(self) -> str:
        """The engine remembers tokens of earlier runs of the same seed: their tables had other names."""
        return f"{crc32(self._names.jobs.encode()):08x}-{self._random_source.getrandbits(60):015x}"

    def _check(self) -> dict[str, Any]:
        # A key that no change of ours has.
        return {
            "TableName": self._names.jobs,
            "Key": {"PK": {"S": "nobody"}, "SK": {"S": "nothing"}},
            "ConditionExpression": self._random_source.choice(["attribute_exists(PK)", "attribute_not_exists(PK)"]),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _repeat(self) -> Call:
        """The last transaction again, as a client does that got no answer, or another one under its token."""
        if not self._sent:
            return self._get()
        sent = self._sent[-1]
        if self._random_source.random() < 0.3:
            _, other = self._transact()
            return "TransactWriteItems", {**other, "ClientRequestToken": sent["ClientRequestToken"]}
        return "TransactWriteItems", sent

    def _statements(self) -> Call:
        # Two statements on one item are nobody's business: AWS does not say in which order they run.
        keys = dict.fromkeys(self.population.key(self.population.definition()) for _ in range(6))
        statements = []
        for key in keys:
            table = self._names.of(key.table)
            if self._random_source.random() < 0.4:
                item = {**key.attributes, **self.population.attributes(key)}
                statements.append(insert_statement(table, item))
            else:
                statements.append(update_statement(table, self.population.update(key, plain=True)))
        return "BatchExecuteStatement", {"Statements": statements, **_CAPACITY}


def _named(condition: Any) -> set[str]:
    if hasattr(condition, "conditions"):
        return {name for each in condition.conditions for name in _named(each)}
    return {condition.attribute}
