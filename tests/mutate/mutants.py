"""Mutants: single small changes of the code's meaning, each as a text; no file is changed here.

Left alone: annotations, docstrings, imports, what only types need, and texts for people.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change.

    path: of the file below the repository.
    lines: every line that the change touches, from 1; of a default, those of its function.
    names: what runs once, when the file is imported, is noticed where these are used.
    function: the lines, decorators included, and the name of the outermost function whose body it changes.
    text: the whole file with the change.
    """

    path: str
    lines: range
    names: tuple[str, ...] = ()
    function: tuple[range, str] | None = None
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lines.start}: {self.before} -> {self.after}"


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    text = path.read_text("utf-8")
    body = ast.parse(text).body
    made = []
    for node, after in _changes(body):
        before, mutated = _replaced(text, node, after)
        lines, names = _noticed_at(body, node)
        made.append(
            Mutant(
                path=str(path.relative_to(root)),
                lines=lines,
                names=names,
                function=_function_around(body, node),
                before=" ".join(before.split()),
                after=after,
                text=mutated,
            )
        )
    return made


def _noticed_at(body: list[ast.stmt], node: ast.expr | ast.stmt) -> tuple[range, tuple[str, ...]]:
    """No test runs the lines that only an import runs: it uses what they have made."""
    around = next(each for each in body if node.lineno in _lines_of(each))
    match around:
        case ast.ClassDef(body=inner) if node.lineno >= inner[0].lineno:
            return _noticed_at(inner, node)
        case ast.FunctionDef(body=inner) if node.lineno < inner[0].lineno:
            return _lines_of(around), ()
        case ast.Assign(targets=targets):
            named = (each for target in targets for each in ast.walk(target))
            return _lines_of(node), tuple(each.id for each in named if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return _lines_of(node), (name,)
        case _:
            return _lines_of(node), ()


def _function_around(body: list[ast.stmt], node: ast.expr | ast.stmt) -> tuple[range, str] | None:
    around = next(each for each in body if node.lineno in _lines_of(each))
    match around:
        case ast.ClassDef(body=inner) if node.lineno >= inner[0].lineno:
            return _function_around(inner, node)
        case ast.FunctionDef(body=inner) if node.lineno >= inner[0].lineno:
            first = around.decorator_list[0].lineno if around.decorator_list else around.lineno
            return range(first, _lines_of(around).stop), around.name
        case _:
            return None


def _lines_of(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _changes(body: list[ast.stmt]) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for statement in body:
        yield from _of(statement)


def _of(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.TypeAlias() | ast.JoinedStr() | ast.Raise() | ast.Assert():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Expr(value=ast.Constant()):
            return
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return
        case ast.ClassDef(bases=[*_, ast.Name(id="Protocol")]):  # says what others implement; nothing of it runs
            return
        case ast.keyword(arg="strict"):  # of zip: it asserts that both are as long
            return
        case ast.stmt():
            yield from _of_a_statement(node)
        case ast.expr():
            yield from _of_an_expression(node)
        case _:
            pass
    for child in _children(node):
        yield from _of(child)


def _of_a_statement(node: ast.stmt) -> Iterator[tuple[ast.stmt, str]]:
    match node:
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        # Who asks whether takes None for False; that it says the opposite is a mutant of its own.
        case ast.Return(value=ast.expr() as value) if not (_is_none(value) or _is_bool(value)):
            yield node, "return None"
        case ast.Break():
            yield node, "continue"
        case ast.Continue():
            yield node, "break"
        case _:
            pass


def _of_an_expression(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            yield node, f"({ast.unparse(left)}) {_COMPARISONS[type(operator)]} ({ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            other = " or " if isinstance(operator, ast.And) else " and "
            yield node, "(" + other.join(f"({ast.unparse(each)})" for each in values) + ")"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            yield node, f"(({ast.unparse(left)}) {_ARITHMETIC[type(operator)]} ({ast.unparse(right)}))"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield node, f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case _:
            pass


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is below it and runs: no annotations, and no decorators, which say how a class is made."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params", "decorator_list", "type_comment"}:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_bool(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)


def _replaced(text: str, node: ast.expr | ast.stmt, after: str) -> tuple[str, str]:
    """What stood there, and the text with the change; columns count bytes."""
    lines = text.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head = b"".join(lines[:first]) + lines[first][: node.col_offset]
    tail = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
    whole = text.encode()
    before = whole[len(head) : len(whole) - len(tail)]
    return before.decode(), (head + after.encode() + tail).decode()
