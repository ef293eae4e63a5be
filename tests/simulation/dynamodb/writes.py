"""One conditional write of one item: alone, in a transaction, or as a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.bindings import bind
from tests.simulation.dynamodb.capacity import TABLE, write_units
from tests.simulation.dynamodb.parsing import parse_condition
from tests.simulation.dynamodb.refusal import condition_failed, invalid, invalid_parameters
from tests.simulation.dynamodb.updates import UpdateTree, parse_update
from tests.simulation.dynamodb.values import checked_item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.simulation.dynamodb.bindings import Bound
    from tests.simulation.dynamodb.conditions import Condition
    from tests.simulation.dynamodb.schema import Key
    from tests.simulation.dynamodb.table import Plan, Table
    from tests.simulation.dynamodb.values import Item

type Request = Mapping[str, Any]

_FAILURE_RETURNS = frozenset({"NONE", "ALL_OLD"})


@dataclass(frozen=True, slots=True)
class Write:
    """A well-formed write that has not looked at its item yet."""

    table: Table
    key: Key
    bound: Bound
    condition: Condition | None
    # The new item from the old one; without one, the item goes.
    change: Callable[[Item | None], Item | None]
    tells_old: bool = False

    def decide(self) -> Plan:
        """Raise if the condition fails or the change is impossible."""
        stored = self.table.items.get(self.key)
        old = stored.item if stored else None
        if self.condition is not None and not self.condition.holds(old or {}, *self.bound):
            raise condition_failed(old if self.tells_old else None)
        return self.table.plan(self.key, self.change(old))

    def units_if_refused(self) -> dict[str, float]:
        """A write that is refused is billed by the item that is there."""
        stored = self.table.items.get(self.key)
        return {TABLE: write_units(stored.size if stored else 0)}


def put(table: Table, request: Request) -> Write:
    item = checked_item(request.get("Item"))
    key = table.schema.key_of_item(item)
    table.schema.refuse_bad_index_keys(item)
    return _write(table, request, key, lambda _old: item)


def delete(table: Table, request: Request) -> Write:
    return _write(table, request, table.schema.key_of(request.get("Key")), lambda _old: None)


def check(table: Table, request: Request) -> Write:
    if not request.get("ConditionExpression"):
        raise invalid("The expression can not be empty;")
    return _write(table, request, table.schema.key_of(request.get("Key")), lambda old: old)


def update(table: Table, request: Request) -> Write:
    key = table.schema.key_of(request.get("Key"))
    text = request.get("UpdateExpression")
    tree = UpdateTree() if text is None else parse_update(text)
    bound = bind(request)
    key_item = checked_item(request["Key"])
    return _write(table, request, key, updating(table, tree, bound, key_item), bound)


def updating(table: Table, tree: UpdateTree, bound: Bound, key: Item) -> Callable[[Item | None], Item | None]:
    for steps in tree.paths(bound.names):
        if steps[0] in table.schema.key.names:
            raise invalid_parameters(f"Cannot update attribute {steps[0]}. This attribute is part of the key")
    tree.refuse_overlaps(bound.names)

    def change(old: Item | None) -> Item:
        new = tree.applied(key if old is None else old, *bound)
        table.schema.refuse_bad_index_keys(new)
        return new

    return change


def _write(
    table: Table, request: Request, key: Key, change: Callable[[Item | None], Item | None], bound: Bound | None = None
) -> Write:
    returns = request.get("ReturnValuesOnConditionCheckFailure", "NONE")
    if returns not in _FAILURE_RETURNS:
        raise invalid(f"Value '{returns}' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint")
    text = request.get("ConditionExpression")
    condition = None if text is None else parse_condition(text)
    return Write(table, key, bound or bind(request), condition, change, tells_old=returns == "ALL_OLD")


def returned(request: Request, plan: Plan) -> dict[str, Any]:
    """What ReturnValues asks for."""
    wanted = request.get("ReturnValues", "NONE")
    old, new = plan.old or {}, plan.new_item or {}
    match wanted:
        case "NONE":
            shown: Item = {}
        case "ALL_OLD":
            shown = old
        case "ALL_NEW":
            shown = new
        case _:
            names = {steps[0] for steps in _updated(request)}
            source = old if wanted == "UPDATED_OLD" else new
            shown = {name: value for name, value in source.items() if name in names}
    return {"Attributes": shown} if shown else {}


def refuse_unknown_returns(request: Request, allowed: frozenset[str]) -> None:
    if request.get("ReturnValues", "NONE") not in allowed:
        raise invalid(f"ReturnValues can only be {' or '.join(sorted(allowed))}")


def _updated(request: Request) -> list[Any]:
    text = request.get("UpdateExpression")
    return parse_update(text).paths(request.get("ExpressionAttributeNames", {})) if text else []
