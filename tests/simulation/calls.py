"""A call that DynamoDB answered: which items it asked to write, which of them it was refused, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.capacity import write_units
from tests.simulation.dynamodb.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.simulation.dynamodb.database import Change, Database
    from tests.simulation.dynamodb.refusal import Refusal
    from tests.simulation.dynamodb.schema import Key

# A table, and the key of an item in it.
type Place = tuple[str, Key]

_FAILED = frozenset({"ConditionalCheckFailed", "DuplicateItem"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """asked: each item that it was to write, with the units of a write that leaves it as it is.
    refused: those whose own condition did not hold.
    is_heard: whether the answer reaches whoever asked.
    """

    operation: str
    units: float
    asked: dict[Place, float] = field(default_factory=dict)
    refused: Sequence[Place] = ()
    is_heard: bool = True


def asked_of(operation: str, request: Mapping[str, Any], database: Database) -> dict[Place, float]:
    match operation:
        case "PutItem" | "UpdateItem" | "DeleteItem":
            places = [_place(request, database)]
        case "TransactWriteItems":
            places = [_place(change, database) for each in request["TransactItems"] for change in each.values()]
        case "BatchExecuteStatement" | "ExecuteTransaction":
            statements = request.get("Statements") or request["TransactStatements"]
            writes = [Statement(each, database.tables.__getitem__).write() for each in statements]
            places = [(write.table.name, write.key) for write in writes]
        case _:
            places = []
    return {place: _units_at(place, database) for place in places}


def refused_of(asked: Mapping[Place, float], answer: Mapping[str, Any], refusal: Refusal | None) -> list[Place]:
    if not asked:
        return []
    if refusal is None:
        codes = [each.get("Error", {}).get("Code") for each in answer.get("Responses", ())]
    elif refusal.code == "ConditionalCheckFailedException":
        return list(asked)
    else:
        codes = [each["Code"] for each in refusal.fields.get("CancellationReasons", ())]
    # Most answers have no codes at all: nothing was refused.
    return [place for place, code in zip(asked, codes, strict=False) if code in _FAILED]


def place_of(change: Change) -> Place:
    partition, *sort = (next(iter(value.values())) for value in change.keys.values())
    return change.table, (partition, sort[0] if sort else None)


def _place(request: Mapping[str, Any], database: Database) -> Place:
    name = request["TableName"]
    return name, database.tables[name].schema.key_in(request.get("Key") or request["Item"])


def _units_at(place: Place, database: Database) -> float:
    stored = database.tables[place[0]].items.get(place[1])
    return write_units(stored.size if stored else 0)
