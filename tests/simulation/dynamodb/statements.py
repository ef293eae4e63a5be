"""BatchExecuteStatement: up to 25 writes, each of which succeeds or fails on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.bindings import Bound
from tests.simulation.dynamodb.conditions import Attribute, Both, Compare, Exists, Given
from tests.simulation.dynamodb.partiql import parse_statement
from tests.simulation.dynamodb.paths import Path
from tests.simulation.dynamodb.refusal import Refusal, invalid
from tests.simulation.dynamodb.values import checked
from tests.simulation.dynamodb.writes import Write, updating

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.simulation.dynamodb.conditions import Condition
    from tests.simulation.dynamodb.partiql import StatementTree
    from tests.simulation.dynamodb.table import Plan, Table
    from tests.simulation.dynamodb.values import Item

_MOST_STATEMENTS = 25
_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ValidationException": "ValidationError",
    "ResourceNotFoundException": "ResourceNotFound",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a batch. What is wrong with it is found when it is written, and is its own failure only."""

    request: Mapping[str, Any]
    find: Callable[[str], Table]

    @property
    def table(self) -> str | None:
        try:
            return parse_statement(self.request["Statement"]).table
        except Refusal:
            return None

    def attempt(self) -> Write | None:
        try:
            return self.write()
        except Refusal:
            return None

    def write(self) -> Write:
        tree = parse_statement(self.request["Statement"])
        bound = Bound({}, _values(tree, self.request.get("Parameters", [])))
        table = self.find(tree.table)
        if tree.kind == "INSERT":
            return _insert(table, tree, bound)
        assert tree.where is not None
        key = _key(table, tree.where, bound)
        change = updating(table, tree.update, bound, key) if tree.kind == "UPDATE" else (lambda _old: None)
        exists = Exists(Path((table.schema.key.partition,)))
        # Whatever it asks for on a failed condition: a statement of a batch is told no item.
        return Write(table, table.schema.key_of(key), bound, Both(exists, tree.where), change)

    def answer(self, plan: Plan) -> dict[str, Any]:
        tree = parse_statement(self.request["Statement"])
        answer: dict[str, Any] = {"TableName": tree.table}
        if tree.returning is not None:
            what, when = tree.returning
            shown = (plan.old if when == "OLD" else plan.new_item) or {}
            if what == "MODIFIED":
                written = {steps[0] for steps in tree.update.paths({})}
                shown = {name: value for name, value in shown.items() if name in written}
            answer["Item"] = shown
        return answer


def prepare_statements(request: Mapping[str, Any], find: Callable[[str], Table]) -> list[Statement]:
    statements = request.get("Statements", [])
    if not 0 < len(statements) <= _MOST_STATEMENTS:
        raise invalid("Member must have length less than or equal to 25 and greater than or equal to 1")
    prepared = [Statement(each, find) for each in statements]
    keys = [(write.table.name, write.key) for write in map(Statement.attempt, prepared) if write]
    if len(set(keys)) != len(keys):
        raise invalid("Provided list of item keys contains duplicates")
    return prepared


def statement_error(refusal: Refusal, table: str | None) -> dict[str, Any]:
    if refusal.code == "ConditionalCheckFailedException" and refusal.fields.get("is_duplicate"):
        error = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    else:
        error = {"Code": _CODES.get(refusal.code, refusal.code), "Message": refusal.message, **refusal.fields}
    return {"Error": error} if table is None else {"Error": error, "TableName": table}


def _insert(table: Table, tree: StatementTree, bound: Bound) -> Write:
    item: Item = {}
    for name, operand in tree.fields:
        value = operand.read({}, *bound)
        assert value is not None
        item[name] = value
    key = table.schema.key_of_item(item)
    table.schema.refuse_bad_index_keys(item)

    def change(old: Item | None) -> Item:
        if old is not None:
            raise Refusal("ConditionalCheckFailedException", is_duplicate=True)
        return item

    return Write(table, key, bound, None, change)


def _values(tree: StatementTree, parameters: list[Any]) -> dict[str, Any]:
    if len(parameters) != tree.parameters:
        raise invalid("Number of parameters in request and statement don't match.")
    given = {f"?{number}": checked(value) for number, value in enumerate(parameters, start=1)}
    return given | tree.literals


def _key(table: Table, where: Condition, bound: Bound) -> Item:
    """The key that the conditions name: one item, or the statement is refused."""
    found: Item = {}
    for part in _services(where):
        match part:
            case Compare(Attribute(path), "=", Given(name)) if path.steps[0] in table.schema.key.names:
                found[str(path.steps[0])] = bound.values[name]
    if found.keys() != {*table.schema.key.names}:
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return found


def _services(condition: Condition) -> Iterable[Condition]:
    if isinstance(condition, Both):
        return [*_services(condition.left), *_services(condition.right)]
    return [condition]
