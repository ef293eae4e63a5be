"""A meter on a DynamoDB client: requests, refusals and consumed units, read where botocore meets the wire."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

type Params = Mapping[str, Any]

_TRANSACTIONS = frozenset({"TransactWriteItems", "ExecuteTransaction"})
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", *_TRANSACTIONS, "BatchExecuteStatement"})
_READS = frozenset({"GetItem", "Query", "BatchGetItem"})
_REFUSALS = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
_PARAMS = "leasehold_meter_params"
# A claim is the one statement of a batch that counts a hand-over.
_DISPATCHES = '"dispatches"=?'


@dataclass(slots=True)
class Reading:
    """What one stretch of work cost. Index units are AWS's bill: see `Meter`."""

    requests: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    refused_claims: int = 0
    read_units: float = 0
    table_write_units: float = 0
    index_write_units: float = 0

    @property
    def total_requests(self) -> int:
        return self.requests.total()

    @property
    def writes(self) -> int:
        return sum(self.requests[operation] for operation in _WRITES)

    @property
    def write_units(self) -> float:
        return self.table_write_units + self.index_write_units


class Meter:
    """Counts every call of one client; `take` returns what was counted since the last `take`.

    dynoxide doubles the table part of a transaction but not its index part, while AWS doubles both: the meter doubles
    the index part, so that `write_units` is what AWS would bill. A refused write is billed too, but no engine reports
    its units: refusals are counted apart.
    """

    def __init__(self, client: DynamoDBClient) -> None:
        self._lock = threading.Lock()
        self._reading = Reading()
        # Hooks run in the order of registration, in the thread of the call; the context belongs to one call.
        client.meta.events.register("before-parameter-build.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._collect)

    def take(self) -> Reading:
        with self._lock:
            reading, self._reading = self._reading, Reading()
        return reading

    def during(self, work: Callable[[], object]) -> Reading:
        """What this piece of work cost, and nothing before it."""
        self.take()
        work()
        return self.take()

    def _ask(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if model.name in _WRITES | _READS:
            params["ReturnConsumedCapacity"] = "INDEXES"
        context[_PARAMS] = params

    def _collect(self, parsed: Params, model: Any, context: dict[str, Any], **_: Any) -> None:
        operation = model.name
        with self._lock:
            reading = self._reading
            reading.requests[operation] += 1
            if parsed.get("Error", {}).get("Code") in _REFUSALS:
                reading.refusals[operation] += 1
                reading.refused_claims += any(map(_is_claim, _updates(context[_PARAMS])))
            for statement, answer in zip(*_statements(context[_PARAMS], parsed), strict=True):
                if answer.get("Error", {}).get("Code") == "ConditionalCheckFailed":
                    reading.refusals[operation] += 1
                    reading.refused_claims += _DISPATCHES in statement["Statement"]
            for consumed in _listed(parsed.get("ConsumedCapacity")):
                if operation in _READS:
                    reading.read_units += consumed["CapacityUnits"]
                elif operation in _WRITES and "ReadCapacityUnits" not in consumed:
                    reading.table_write_units += consumed["Table"]["CapacityUnits"]
                    in_indexes = sum(each["CapacityUnits"] for each in _indexes(consumed))
                    reading.index_write_units += in_indexes * (2 if operation in _TRANSACTIONS else 1)


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """The size of an item by DynamoDB's published rules, in bytes."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    match value:
        case {"S": text}:
            return len(text.encode())
        case {"B": data}:
            return len(data)
        case {"N": number}:
            return len(number.lstrip("-").replace(".", "")) // 2 + 2
        case {"BOOL": _} | {"NULL": _}:
            return 1
        case {"L": values}:
            return 3 + sum(1 + _value_size(each) for each in values)
        case {"M": fields}:
            return 3 + len(fields) + item_size(fields)
        case _:
            raise TypeError(f"no size rule for {value!r}")


def _listed(consumed: Any) -> list[Params]:
    return consumed if isinstance(consumed, list) else [consumed] if consumed else []


def _indexes(consumed: Params) -> Iterator[Params]:
    yield from consumed.get("GlobalSecondaryIndexes", {}).values()


def _updates(params: Params) -> Iterator[Params]:
    if "UpdateExpression" in params:
        yield params
    for item in params.get("TransactItems", []):
        if "Update" in item:
            yield item["Update"]


def _statements(params: Params, parsed: Params) -> tuple[list[Params], list[Params]]:
    """The statements of a batch and what each was told; nothing for other calls, and for a batch that failed."""
    return (params["Statements"], parsed["Responses"]) if "Responses" in parsed and "Statements" in params else ([], [])


def _is_claim(update: Params) -> bool:
    """A claim is the one transition that counts a hand-over up."""
    _, _, added = update["UpdateExpression"].partition("ADD ")
    names = update.get("ExpressionAttributeNames", {})
    return any(names.get(term.split()[0]) == "dispatches" for term in added.split(", ") if term)
