"""What PartiQL writes goes onto the table's stream, as on AWS: each statement by itself, a transaction as a whole."""

from __future__ import annotations

from contextvars import ContextVar
from copy import deepcopy
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

type Item = dict[str, Any]
# Name of the table, the item before and after it.
type Change = tuple[str, Item | None, Item | None]

_written: ContextVar[list[Change] | None] = ContextVar("written", default=None)


def install() -> None:
    dynamodb = import_module("ministack.services.dynamodb")
    for name in ("_set_item", "_remove_item"):
        setattr(dynamodb, name, _noted(getattr(dynamodb, name)))
    for name in ("_execute_statement", "_execute_transaction"):
        setattr(dynamodb, name, _streamed(getattr(dynamodb, name), dynamodb._emit_stream_event))


def _noted(write: Callable[..., Item | None]) -> Callable[..., Item | None]:
    """Both answer with the item that was there before."""

    @wraps(write)
    def noted(table: Item, partition: str, sort: str, *new: Item) -> Item | None:
        old = write(table, partition, sort, *new)
        written = _written.get()
        if written is not None:
            written.append((table["TableName"], old, deepcopy(new[0]) if new else None))
        return old

    return noted


def _streamed(execute: Callable[..., Any], emit: Callable[..., None]) -> Callable[..., Any]:
    @wraps(execute)
    def streamed(request: Item) -> Any:
        written: list[Change] = []
        token = _written.set(written)
        try:
            answer = execute(request)
        finally:
            _written.reset(token)
        if answer[0] == 200:  # a transaction that was cancelled took back what it had written
            for table, old, new in written:
                emit(table, "INSERT" if old is None else "REMOVE" if new is None else "MODIFY", old, new)
        return answer

    return streamed
