"""Condition expressions to condition trees. A text is parsed once; names and values are bound at each use."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tests.simulation.dynamodb.conditions import (
    Attribute,
    BeginsWith,
    Between,
    Both,
    Compare,
    Contains,
    Either,
    Exists,
    Given,
    HasType,
    Not,
    OneOf,
    SizeOf,
)
from tests.simulation.dynamodb.paths import parse_path
from tests.simulation.dynamodb.tokens import Tokens

if TYPE_CHECKING:
    from tests.simulation.dynamodb.conditions import Condition, Operand

_SIGNS = ("=", "<>", "<", "<=", ">", ">=")
_MOST_CHOICES = 100


@lru_cache(maxsize=4096)
def parse_condition(text: str, what: str = "ConditionExpression") -> Condition:
    tokens = Tokens(text, what)
    if tokens.has_ended():
        raise tokens.refuse("The expression can not be empty;")
    condition = ConditionParser(tokens).either()
    if not tokens.has_ended():
        raise tokens.unexpected()
    return condition


class ConditionParser:
    """Recursive descent: OR binds least, then AND, then NOT."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._last_group: Condition | None = None

    def either(self) -> Condition:
        condition = self._both()
        while self._tokens.take_word("OR"):
            condition = Either(condition, self._both())
        return condition

    def _both(self) -> Condition:
        condition = self._not()
        while self._tokens.take_word("AND"):
            condition = Both(condition, self._not())
        return condition

    def _not(self) -> Condition:
        if self._tokens.take_word("NOT"):
            return Not(self._not())
        return self._simple()

    def _simple(self) -> Condition:
        tokens = self._tokens
        if tokens.take_sign("("):
            condition = self.either()
            if condition is self._last_group:
                raise tokens.refuse("The expression has redundant parentheses;")
            tokens.expect_sign(")")
            self._last_group = condition
            return condition
        return self._function() or self._comparison()

    def _function(self) -> Condition | None:
        tokens = self._tokens
        if tokens.kind != "word" or not tokens.next_is("("):
            return None
        match tokens.text:
            case "attribute_exists" | "attribute_not_exists" as name:
                self._open()
                path = parse_path(tokens)
                tokens.expect_sign(")")
                return Exists(path, name == "attribute_exists")
            case "attribute_type" | "contains" as name:
                self._open()
                path = parse_path(tokens)
                tokens.expect_sign(",")
                other = self.operand()
                tokens.expect_sign(")")
                return HasType(path, other) if name == "attribute_type" else Contains(path, other)
            case "begins_with":
                self._open()
                operand = self.operand()
                tokens.expect_sign(",")
                prefix = self.operand()
                tokens.expect_sign(")")
                return BeginsWith(operand, prefix)
            case "size":
                return None
            case name:
                raise tokens.refuse(f"Invalid function name; function: {name}")

    def _open(self) -> None:
        self._tokens.take()
        self._tokens.expect_sign("(")

    def _comparison(self) -> Condition:
        tokens = self._tokens
        left = self.operand()
        if tokens.take_word("BETWEEN"):
            first = self.operand()
            tokens.expect_word("AND")
            return Between(left, first, self.operand())
        if tokens.take_word("IN"):
            return OneOf(left, self._choices())
        sign = tokens.take_sign(*_SIGNS)
        if sign is None:
            raise tokens.unexpected()
        return Compare(left, sign, self.operand())

    def _choices(self) -> tuple[Operand, ...]:
        tokens = self._tokens
        tokens.expect_sign("(")
        choices = [self.operand()]
        while tokens.take_sign(","):
            choices.append(self.operand())
        tokens.expect_sign(")")
        if len(choices) > _MOST_CHOICES:
            raise tokens.refuse(f"The IN operator has {len(choices)} operands; at most {_MOST_CHOICES} are allowed")
        return tuple(choices)

    def operand(self) -> Operand:
        tokens = self._tokens
        if tokens.kind == "placeholder" and tokens.text.startswith(":"):
            return Given(tokens.take())
        if tokens.text == "size" and tokens.next_is("("):
            self._open()
            path = parse_path(tokens)
            tokens.expect_sign(")")
            return SizeOf(path)
        return Attribute(parse_path(tokens))
