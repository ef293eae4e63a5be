"""Every call that a client makes of DynamoDB, as IAM would decide about it, by who made it."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import DEAD_LETTERS, JOBS
from tests.infra.cloudformation import ACCOUNT, REGION
from tests.infra.iam import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

NOBODY = "nobody"
_IN_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_PARTITION_KEYS = (JOBS.key[0], DEAD_LETTERS.key[0])


class RecordedCalls:
    """Calls are put down to whoever `acting_as` names; nobody's are those of the test itself."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.by_actor: defaultdict[str, set[Call]] = defaultdict(set)
        self.actor = NOBODY
        client.meta.events.register("before-parameter-build.dynamodb", self._record)

    @contextmanager
    def acting_as(self, actor: str) -> Iterator[None]:
        before, self.actor = self.actor, actor
        try:
            yield
        finally:
            self.actor = before

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.by_actor[self.actor].update(calls_of(model.name, params))


def calls_of(operation: str, params: Mapping[str, Any]) -> Iterator[Call]:
    """What IAM decides about when this operation is called: a batch or a transaction is several decisions."""
    match operation:
        case "UpdateItem":
            yield _call(operation, params["TableName"], _partition(params["Key"]), attributes=_named(params))
        case "GetItem" | "DeleteItem":
            yield _call(operation, params["TableName"], _partition(params["Key"]))
        case "PutItem":
            yield _call(operation, params["TableName"], _partition(params["Item"]))
        case "Query":
            index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
            yield _call(operation, params["TableName"] + index, _queried_partition(params))
        case "BatchGetItem":
            for table, wanted in params["RequestItems"].items():
                yield _call(operation, table, *(_partition(key) for key in wanted["Keys"]))
        case "TransactWriteItems":
            for item in params["TransactItems"]:
                ((kind, change),) = item.items()
                key = change["Item"] if kind == "Put" else change["Key"]
                named = _named(change) if kind == "Update" else ()
                call = _call(_IN_TRANSACTION[kind], change["TableName"], _partition(key), attributes=named)
                yield replace(call, enclosed_by=operation)
        case "BatchExecuteStatement":
            yield from (_statement(each) for each in params["Statements"])
        case "ExecuteTransaction":
            yield from (_statement(each) for each in params["TransactStatements"])
        case _:
            raise NotImplementedError(f"{operation}: say here which rights it needs")


def _call(action: str, place: str, *partitions: str, attributes: Iterable[str] = ()) -> Call:
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{place}"
    return Call(f"dynamodb:{action}", arn, tuple(dict.fromkeys(partitions)), tuple(sorted(set(attributes))))


def _named(update: Mapping[str, Any]) -> list[str]:
    """What an update sets, removes and asks for, and its key."""
    return [*update["Key"], *update.get("ExpressionAttributeNames", {}).values()]


def _partition(key: Mapping[str, Any]) -> str:
    (name,) = [each for each in _PARTITION_KEYS if each in key]
    return str(key[name]["S"])


def _queried_partition(params: Mapping[str, Any]) -> str:
    """Every key condition starts with the partition: `#0 = :0`."""
    _, _, placeholder = params["KeyConditionExpression"].split(" AND ")[0].partition(" = ")
    return str(params["ExpressionAttributeValues"][placeholder]["S"])


def _statement(statement: Mapping[str, Any]) -> Call:
    return _update(statement) if statement["Statement"].startswith("UPDATE") else _insert(statement)


def _update(statement: Mapping[str, Any]) -> Call:
    found = re.match(r'UPDATE "([^"]+)" (.*)$', statement["Statement"])
    assert found, statement["Statement"]
    # Values come in the order of their question marks, the partition right after what is set.
    names = re.findall(r'"([^"]+)"=\?', found[2])
    values = dict(zip(names, statement["Parameters"], strict=False))
    return _call("PartiQLUpdate", found[1], _partition(values), attributes=re.findall(r'"([^"]+)"', found[2]))


def _insert(statement: Mapping[str, Any]) -> Call:
    found = re.match(r'INSERT INTO "([^"]+)" VALUE {(.*)}$', statement["Statement"])
    assert found, statement["Statement"]
    names = re.findall(r"'([^']+)': \?", found[2])
    return _call("PartiQLInsert", found[1], _partition(dict(zip(names, statement["Parameters"], strict=True))))
