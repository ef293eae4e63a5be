"""Names and functions of PartiQL: a name that is a reserved word stands in double quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.dynamodb.conditions import Attribute, BeginsWith, Contains, Exists, HasType
from tests.simulation.dynamodb.paths import Path
from tests.simulation.dynamodb.tokens import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.dynamodb.conditions import Condition, Operand
    from tests.simulation.dynamodb.tokens import Tokens


class PartiqlPaths:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def path(self) -> Path:
        tokens = self._tokens
        steps: list[str | int] = [self._name()]
        while True:
            if tokens.take_sign("."):
                steps.append(self._name())
            elif tokens.take_sign("["):
                if tokens.kind != "number":
                    raise tokens.unexpected()
                steps.append(int(tokens.take()))
                tokens.expect_sign("]")
            else:
                return Path(tuple(steps))

    def _name(self) -> str:
        tokens = self._tokens
        if tokens.kind == "quoted":
            return tokens.take()[1:-1].replace('""', '"')
        if tokens.kind != "word" or tokens.text.upper() in RESERVED:
            raise tokens.unexpected()
        return tokens.take()


def partiql_function(tokens: Tokens, paths: PartiqlPaths, operand: Callable[[], Operand]) -> Condition | None:
    if tokens.kind != "word" or not tokens.next_is("("):
        return None
    name = tokens.take().lower()
    tokens.expect_sign("(")
    made: Condition
    if name in {"attribute_exists", "attribute_not_exists"}:
        made = Exists(paths.path(), name == "attribute_exists")
    else:
        if name not in {"begins_with", "contains", "attribute_type"}:
            raise tokens.unexpected()
        path = paths.path()
        tokens.expect_sign(",")
        other = operand()
        match name:
            case "begins_with":
                made = BeginsWith(Attribute(path), other)
            case "contains":
                made = Contains(path, other)
            case _:
                made = HasType(path, other)
    tokens.expect_sign(")")
    return made
