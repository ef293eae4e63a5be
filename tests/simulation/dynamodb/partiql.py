"""PartiQL statements that write one item: INSERT, UPDATE and DELETE, parsed once per text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.dynamodb.conditions import Attribute, Between, Both, Compare, Either, Exists, Given, Not, OneOf
from tests.simulation.dynamodb.partiql_words import PartiqlPaths, partiql_function
from tests.simulation.dynamodb.tokens import STATEMENT, Tokens
from tests.simulation.dynamodb.updates import Arithmetic, UpdateTree

if TYPE_CHECKING:
    from tests.simulation.dynamodb.conditions import Condition, Operand
    from tests.simulation.dynamodb.paths import Path

_SIGNS = ("=", "<>", "!=", "<", "<=", ">", ">=")


class StatementTree(NamedTuple):
    """parameters: how many `?` there are; literals: values in the text, under names that no parameter has."""

    kind: str
    table: str
    parameters: int
    literals: dict[str, Any]
    fields: tuple[tuple[str, Operand], ...] = ()
    update: UpdateTree = UpdateTree()
    where: Condition | None = None
    # Such as ("ALL", "NEW"): which image the statement answers with.
    returning: tuple[str, str] | None = None


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> StatementTree:
    tokens = Tokens(text, STATEMENT)
    return _StatementParser(tokens).statement()


class _StatementParser:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._paths = PartiqlPaths(tokens)
        self._parameters = 0
        self._literals: dict[str, Any] = {}

    def statement(self) -> StatementTree:
        tokens = self._tokens
        services: dict[str, Any] = {}
        match kind := tokens.take_word("INSERT", "UPDATE", "DELETE"):
            case "INSERT":
                tokens.expect_word("INTO")
                table = self._table()
                tokens.expect_word("VALUE")
                services["fields"] = self._fields()
            case "UPDATE":
                table = self._table()
                services["update"] = self._update()
                services["where"] = self._where()
            case "DELETE":
                tokens.expect_word("FROM")
                table = self._table()
                services["where"] = self._where()
            case _:
                raise tokens.unexpected()
        services["returning"] = self._returning()
        if not tokens.has_ended():
            raise tokens.unexpected()
        return StatementTree(kind, table, self._parameters, self._literals, **services)

    def _table(self) -> str:
        if self._tokens.kind == "quoted":
            return self._tokens.take()[1:-1]
        if self._tokens.kind == "word":
            return self._tokens.take()
        raise self._tokens.unexpected()

    def _fields(self) -> tuple[tuple[str, Operand], ...]:
        tokens = self._tokens
        tokens.expect_sign("{")
        fields: list[tuple[str, Operand]] = []
        while not tokens.take_sign("}"):
            if fields:
                tokens.expect_sign(",")
            if tokens.kind != "string":
                raise tokens.unexpected()
            name = tokens.take()[1:-1].replace("''", "'")
            tokens.expect_sign(":")
            fields.append((name, self._value()))
        return tuple(fields)

    def _update(self) -> UpdateTree:
        tokens = self._tokens
        sets: list[tuple[Path, Operand]] = []
        removes: list[Path] = []
        # One path for each word, as AWS documents it.
        while clause := tokens.take_word("SET", "REMOVE"):
            path = self._paths.path()
            if clause == "SET":
                tokens.expect_sign("=")
                sets.append((path, self._arithmetic()))
            else:
                removes.append(path)
        if not sets and not removes:
            raise tokens.unexpected()
        return UpdateTree(sets=tuple(sets), removes=tuple(removes))

    def _arithmetic(self) -> Operand:
        left = self._operand()
        sign = self._tokens.take_sign("+", "-")
        return Arithmetic(left, sign, self._operand()) if sign else left

    def _where(self) -> Condition:
        self._tokens.expect_word("WHERE")
        return self._either()

    def _either(self) -> Condition:
        condition = self._both()
        while self._tokens.take_word("OR"):
            condition = Either(condition, self._both())
        return condition

    def _both(self) -> Condition:
        condition = self._simple()
        while self._tokens.take_word("AND"):
            condition = Both(condition, self._simple())
        return condition

    def _simple(self) -> Condition:
        tokens = self._tokens
        if tokens.take_word("NOT"):
            return Not(self._simple())
        if tokens.take_sign("("):
            condition = self._either()
            tokens.expect_sign(")")
            return condition
        return partiql_function(tokens, self._paths, self._operand) or self._comparison()

    def _comparison(self) -> Condition:
        tokens = self._tokens
        left = self._operand()
        if tokens.take_word("IS"):
            wanted = bool(tokens.take_word("NOT"))
            tokens.expect_word("MISSING")
            if not isinstance(left, Attribute):
                raise tokens.unexpected()
            return Exists(left.path, wanted)
        if tokens.take_word("BETWEEN"):
            first = self._operand()
            tokens.expect_word("AND")
            return Between(left, first, self._operand())
        if tokens.take_word("IN"):
            return OneOf(left, self._choices())
        sign = tokens.take_sign(*_SIGNS)
        if sign is None:
            raise tokens.unexpected()
        return Compare(left, "<>" if sign == "!=" else sign, self._operand())

    def _choices(self) -> tuple[Operand, ...]:
        tokens = self._tokens
        opened = tokens.take_sign("[", "(")
        if opened is None:
            raise tokens.unexpected()
        choices = [self._operand()]
        while tokens.take_sign(","):
            choices.append(self._operand())
        tokens.expect_sign("]" if opened == "[" else ")")
        return tuple(choices)

    def _operand(self) -> Operand:
        if self._tokens.kind in {"word", "quoted"} and not self._tokens.is_word("TRUE", "FALSE", "NULL"):
            return Attribute(self._paths.path())
        return self._value()

    def _value(self) -> Operand:
        """A `?`, or a literal: both are bound like the values of an expression."""
        tokens = self._tokens
        if tokens.take_sign("?"):
            self._parameters += 1
            return Given(f"?{self._parameters}")
        literal = self._literal()
        name = f"literal {len(self._literals)}"
        self._literals[name] = literal
        return Given(name)

    def _literal(self) -> dict[str, Any]:
        tokens = self._tokens
        minus = "-" if tokens.take_sign("-") else ""
        if tokens.kind == "number":
            return {"N": minus + tokens.take()}
        if not minus and tokens.kind == "string":
            return {"S": tokens.take()[1:-1].replace("''", "'")}
        word = None if minus else tokens.take_word("TRUE", "FALSE", "NULL")
        if word is None:
            raise tokens.unexpected()
        return {"NULL": True} if word == "NULL" else {"BOOL": word == "TRUE"}

    def _returning(self) -> tuple[str, str] | None:
        tokens = self._tokens
        if not tokens.take_word("RETURNING"):
            return None
        what, when = tokens.take_word("ALL", "MODIFIED"), tokens.take_word("OLD", "NEW")
        if what is None or when is None:
            raise tokens.unexpected()
        tokens.expect_sign("*")
        return what, when
