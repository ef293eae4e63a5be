"""Projection expressions: which attributes of an item are answered."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tests.simulation.dynamodb.paths import parse_path
from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.tokens import Tokens

if TYPE_CHECKING:
    from tests.simulation.dynamodb.bindings import Bound
    from tests.simulation.dynamodb.paths import Path
    from tests.simulation.dynamodb.values import Item


def projected(item: Item, text: str | None, bound: Bound) -> Item:
    if text is None:
        return item
    shown: Item = {}
    for path in _parse(text):
        value = path.read(item, bound.names)
        steps = path.resolved(bound.names)
        if len(steps) > 1:
            raise invalid("Only top-level attributes can be projected here: the library asks for nothing else")
        if value is not None:
            shown[str(steps[0])] = value
    return shown


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[Path, ...]:
    tokens = Tokens(text, "ProjectionExpression")
    paths = [parse_path(tokens)]
    while tokens.take_sign(","):
        paths.append(parse_path(tokens))
    if not tokens.has_ended():
        raise tokens.unexpected()
    return tuple(paths)
