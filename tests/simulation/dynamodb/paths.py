"""Document paths such as `a.b[0]`: read, set and remove what they point to, always in a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.tokens import RESERVED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.simulation.dynamodb.tokens import Tokens
    from tests.simulation.dynamodb.values import Item, Value

type Steps = tuple[str | int, ...]
type Names = Mapping[str, str]

_NOT_THERE = "The document path provided in the update expression is invalid for update"


@dataclass(frozen=True, slots=True)
class Path:
    """Steps as they are written: names may be placeholders."""

    steps: Steps

    def resolved(self, names: Names) -> Steps:
        first = self.steps[0]
        if len(self.steps) == 1:
            return (names[first],) if first in names else self.steps  # type: ignore[index]
        return tuple(names.get(step, step) if isinstance(step, str) else step for step in self.steps)

    def read(self, item: Item, names: Names) -> Value | None:
        steps = self.steps
        first: Any = steps[0]
        value = item.get(names.get(first, first))
        if len(steps) == 1 or value is None:
            return value
        return _follow(value, self.resolved(names)[1:])


def parse_path(tokens: Tokens) -> Path:
    steps: list[str | int] = [_name(tokens)]
    while True:
        if tokens.take_sign("."):
            steps.append(_name(tokens))
        elif tokens.take_sign("["):
            if tokens.kind != "number":
                raise tokens.unexpected()
            steps.append(int(tokens.take()))
            tokens.expect_sign("]")
        else:
            return Path(tuple(steps))


def _name(tokens: Tokens) -> str:
    match tokens.kind, tokens.text:
        case "placeholder", text if text.startswith("#"):
            return tokens.take()
        case "word", word:
            if word.upper() in RESERVED:
                raise tokens.refuse(f"Attribute name is a reserved keyword; reserved keyword: {word}")
            return tokens.take()
        case _:
            raise tokens.unexpected()


def _follow(value: Value | None, steps: Steps) -> Value | None:
    for step in steps:
        if value is None:
            return None
        value = _child(value, step)
    return value


def _child(value: Value, step: str | int) -> Value | None:
    found: Value | None
    if isinstance(step, str):
        found = value.get("M", {}).get(step)
        return found
    listed = value.get("L", [])
    found = listed[step] if step < len(listed) else None
    return found


def with_value(item: Item, steps: Steps, new: Value) -> Item:
    """A copy of the item in which the path has this value."""
    name = _first(steps)
    if len(steps) == 1:
        return {**item, name: new}
    if name not in item:
        raise invalid(_NOT_THERE)
    return {**item, name: _value_with(item[name], steps[1:], new)}


def _value_with(value: Value, steps: Steps, new: Value) -> Value:
    step, rest = steps[0], steps[1:]
    inner = new
    if rest:
        child = _child(value, step)
        if child is None:
            raise invalid(_NOT_THERE)
        inner = _value_with(child, rest, new)
    if isinstance(step, str) and "M" in value:
        return {"M": {**value["M"], step: inner}}
    if isinstance(step, int) and "L" in value:
        # A position beyond the end appends.
        return {"L": [*value["L"][:step], inner, *value["L"][step + 1 :]]}
    raise invalid(_NOT_THERE)


def without(item: Item, steps: Steps) -> Item:
    name = _first(steps)
    if len(steps) == 1:
        return {each: value for each, value in item.items() if each != name}
    if name not in item:
        raise invalid(_NOT_THERE)
    return {**item, name: _value_without(item[name], steps[1:])}


def _value_without(value: Value, steps: Steps) -> Value:
    step, rest = steps[0], steps[1:]
    if not (("M" in value) if isinstance(step, str) else ("L" in value)):
        raise invalid(_NOT_THERE)
    if rest:
        child = _child(value, step)
        if child is None:
            raise invalid(_NOT_THERE)
        return _value_with(value, (step,), _value_without(child, rest))
    if isinstance(step, str):
        return {"M": {name: each for name, each in value["M"].items() if name != step}}
    return {"L": [each for at, each in enumerate(value["L"]) if at != step]}


def _first(steps: Steps) -> str:
    assert isinstance(steps[0], str)
    return steps[0]


def overlap(one: Steps, other: Steps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
