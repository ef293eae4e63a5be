"""Update expressions: SET, REMOVE, ADD and DELETE, parsed once and applied to copies of items."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.dynamodb.conditions import Attribute, Given
from tests.simulation.dynamodb.paths import overlap, parse_path, with_value, without
from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.tokens import Tokens
from tests.simulation.dynamodb.values import canonical_number, kind_of, number_of

if TYPE_CHECKING:
    from tests.simulation.dynamodb.conditions import Operand, Values
    from tests.simulation.dynamodb.paths import Names, Path, Steps
    from tests.simulation.dynamodb.values import Item, Value

_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_SETS = frozenset({"SS", "NS", "BS"})


class UpdateTree(NamedTuple):
    sets: tuple[tuple[Path, Operand], ...] = ()
    removes: tuple[Path, ...] = ()
    adds: tuple[tuple[Path, Operand], ...] = ()
    deletes: tuple[tuple[Path, Operand], ...] = ()

    def paths(self, names: Names) -> list[Steps]:
        written = [path for path, _ in (*self.sets, *self.adds, *self.deletes)]
        return [path.resolved(names) for path in (*written, *self.removes)]

    def applied(self, item: Item, names: Names, values: Values) -> Item:
        """The item after the update. Everything reads what was there before."""
        old = item
        for path, operand in self.sets:
            new = operand.read(old, names, values)
            if new is None:
                raise invalid("The provided expression refers to an attribute that does not exist in the item")
            item = with_value(item, path.resolved(names), new)
        # From the back, so that positions in a list still mean what they meant.
        for steps in sorted((path.resolved(names) for path in self.removes), key=_positions, reverse=True):
            item = without(item, steps)
        for path, operand in self.adds:
            added = _sum(path.read(old, names), operand.read(old, names, values))
            item = with_value(item, path.resolved(names), added)
        for path, operand in self.deletes:
            left = _difference(path.read(old, names), operand.read(old, names, values))
            steps = path.resolved(names)
            item = without(item, steps) if left is None else with_value(item, steps, left)
        return item

    def refuse_overlaps(self, names: Names) -> None:
        paths = self.paths(names)
        if all(len(steps) == 1 for steps in paths) and len(set(paths)) == len(paths):
            return
        for at, one in enumerate(paths):
            if any(overlap(one, other) for other in paths[at + 1 :]):
                raise invalid("Invalid UpdateExpression: Two document paths overlap with each other")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    left: Operand
    sign: str
    right: Operand

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        left, right = self.left.read(item, names, values), self.right.read(item, names, values)
        if left is None or right is None:
            return None
        if "N" not in left or "N" not in right:
            raise invalid(_WRONG_TYPE)
        return _added(left["N"], right["N"], 1 if self.sign == "+" else -1)


@dataclass(frozen=True, slots=True)
class IfNotExists:
    path: Path
    otherwise: Operand

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        found = self.path.read(item, names)
        return self.otherwise.read(item, names, values) if found is None else found


@dataclass(frozen=True, slots=True)
class ListAppend:
    first: Operand
    second: Operand

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        first, second = self.first.read(item, names, values), self.second.read(item, names, values)
        if first is None or second is None:
            return None
        if "L" not in first or "L" not in second:
            raise invalid(_WRONG_TYPE)
        return {"L": [*first["L"], *second["L"]]}


def _positions(steps: Steps) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (0, step) for step in steps)


def _sum(old: Value | None, added: Value | None) -> Value:
    assert added is not None
    kind = kind_of(added)
    if kind != "N" and kind not in _SETS:
        raise invalid(
            f"Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, {kind}"
        )
    if old is None:
        return added
    if kind_of(old) != kind:
        raise invalid(_WRONG_TYPE)
    if kind == "N":
        return _added(old["N"], added["N"], 1)
    members = {*old[kind], *added[kind]}
    return {kind: sorted(members, key=number_of) if kind == "NS" else sorted(members)}


def _difference(old: Value | None, removed: Value | None) -> Value | None:
    assert removed is not None
    kind = kind_of(removed)
    if kind not in _SETS:
        raise invalid(
            f"Invalid UpdateExpression: Incorrect operand type for operator or function; operator: DELETE, {kind}"
        )
    if old is None:
        return None
    if kind_of(old) != kind:
        raise invalid(_WRONG_TYPE)
    left = [each for each in old[kind] if each not in removed[kind]]
    return {kind: left} if left else None


def _added(left: str, right: str, factor: int) -> Value:
    result = number_of(left) + factor * number_of(right)
    return {"N": canonical_number(format(result, "f") if isinstance(result, Decimal) else str(result))}


@lru_cache(maxsize=4096)
def parse_update(text: str) -> UpdateTree:
    tokens = Tokens(text, "UpdateExpression")
    if tokens.has_ended():
        raise tokens.refuse("The expression can not be empty;")
    clauses: dict[str, tuple[object, ...]] = {}
    while not tokens.has_ended():
        clause = tokens.take_word("SET", "REMOVE", "ADD", "DELETE")
        if clause is None:
            raise tokens.unexpected()
        if clause in clauses:
            raise tokens.refuse(f'The "{clause}" section can only be used once in an update expression;')
        actions = [_action(tokens, clause)]
        while tokens.take_sign(","):
            actions.append(_action(tokens, clause))
        clauses[clause] = tuple(actions)
    fields = {"SET": "sets", "REMOVE": "removes", "ADD": "adds", "DELETE": "deletes"}
    return UpdateTree(**{fields[clause]: actions for clause, actions in clauses.items()})  # type: ignore[arg-type]


def _action(tokens: Tokens, clause: str) -> object:
    path = parse_path(tokens)
    match clause:
        case "REMOVE":
            return path
        case "SET":
            tokens.expect_sign("=")
            return path, _arithmetic(tokens)
        case _:
            if tokens.kind != "placeholder" or not tokens.text.startswith(":"):
                raise tokens.unexpected()
            return path, Given(tokens.take())


def _arithmetic(tokens: Tokens) -> Operand:
    left = _operand(tokens)
    sign = tokens.take_sign("+", "-")
    return Arithmetic(left, sign, _operand(tokens)) if sign else left


def _operand(tokens: Tokens) -> Operand:
    if tokens.kind == "placeholder" and tokens.text.startswith(":"):
        return Given(tokens.take())
    if tokens.kind == "word" and tokens.next_is("("):
        name = tokens.take()
        tokens.expect_sign("(")
        made: Operand
        if name == "if_not_exists":
            path = parse_path(tokens)
            tokens.expect_sign(",")
            made = IfNotExists(path, _operand(tokens))
        elif name == "list_append":
            first = _operand(tokens)
            tokens.expect_sign(",")
            made = ListAppend(first, _operand(tokens))
        else:
            raise tokens.refuse(f"Invalid function name; function: {name}")
        tokens.expect_sign(")")
        return made
    return Attribute(parse_path(tokens))
