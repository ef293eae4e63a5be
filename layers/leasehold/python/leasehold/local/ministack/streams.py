"""Streams as on AWS: what PartiQL writes goes onto them, and a record that a function reports as failed comes again.

Each statement goes onto its table's stream by itself, a transaction as a whole. After a record that is reported in
`batchItemFailures`, all that follow are delivered again too.
"""

from __future__ import annotations

from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

type Item = dict[str, Any]
# Name of the table, the item before and after it.
type Change = tuple[str, Item | None, Item | None]

_written: ContextVar[list[Change] | None] = ContextVar("written", default=None)
_is_polling: ContextVar[bool] = ContextVar("is_polling", default=False)


def install() -> None:
    dynamodb: Any = import_module("ministack.services.dynamodb")
    for name in ("_set_item", "_remove_item"):
        setattr(dynamodb, name, partial(_noting, getattr(dynamodb, name)))
    for name in ("_execute_statement", "_execute_transaction"):
        setattr(dynamodb, name, partial(_streaming, getattr(dynamodb, name), dynamodb._emit_stream_event))
    functions: Any = import_module("ministack.services.lambda_svc")
    functions._poll_dynamodb_streams = partial(_polling, functions._poll_dynamodb_streams)
    functions._execute_function = partial(Redelivery(functions).execute, functions._execute_function)


def _noting(write: Callable[..., Item | None], table: Item, partition: str, sort: str, *new: Item) -> Item | None:
    """Either write answers with the item that was there before."""
    old = write(table, partition, sort, *new)
    written = _written.get()
    # A copy is dear, and most tables of tests have no stream.
    if written is not None and (table.get("StreamSpecification") or {}).get("StreamEnabled"):
        written.append((table["TableName"], old, deepcopy(new[0]) if new else None))
    return old


def _streaming(execute: Callable[..., Any], emit: Callable[..., None], request: Item) -> Any:
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


def _polling(poll: Callable[[], bool]) -> bool:
    token = _is_polling.set(True)
    try:
        return poll()
    finally:
        _is_polling.reset(token)


class Redelivery:
    """Where each function has to go on, and how often it was tried there. ministack keeps a batch that failed whole."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        # By function and stream: the first record that failed, and how often in a row.
        self._failed: dict[tuple[str, str], tuple[str, int]] = {}

    def execute(self, execute: Callable[..., Any], function: Any, event: Any) -> Any:
        records = event.get("Records") if _is_polling.get() and isinstance(event, dict) else None
        if not records or "dynamodb" not in records[0]:
            return execute(function, event)
        return self._deliver(execute, function, records)

    def _deliver(self, execute: Callable[..., Any], function: Any, records: list[Any]) -> Any:
        name = (function.get("config") or function).get("FunctionName", "")
        place = (name, records[0].get("eventSourceARN", ""))
        mapping = self._mapping(*place)
        rest, tries = self._rest(place, records)
        token = _is_polling.set(False)  # it may call itself once more, in another account's name
        try:
            result = execute(function, {"Records": rest})
        finally:
            _is_polling.reset(token)
        if result.get("throttle"):
            return result  # comes again and is no try
        reports = "ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", [])
        failed = _first_failed(result, rest, reports=reports)
        if failed is None:
            self._failed.pop(place, None)
            return result
        if 0 <= int(mapping.get("MaximumRetryAttempts", -1)) <= tries:
            self._functions._send_ddb_stream_failure_record(
                mapping, function, rest, place[1], result, "RetryAttemptsExhausted"
            )
            self._failed.pop(place, None)
            return {"body": None, "log": result.get("log", "")}
        self._failed[place] = (failed, tries + 1)
        body = {"errorType": "batchItemFailures", "errorMessage": f"record {failed} is delivered again"}
        return {**result, "error": True, "body": body}

    def _rest(self, place: tuple[str, str], records: list[Any]) -> tuple[list[Any], int]:
        number, tries = self._failed.get(place, ("", 0))
        numbers = [_number(record) for record in records]
        return (records[numbers.index(number) :], tries) if number in numbers else (records, 0)

    def _mapping(self, name: str, stream: str) -> dict[str, Any]:
        mappings = (mapping for _, _, mapping in self._functions._iter_all_esms())
        return next(m for m in mappings if (m["FunctionName"], m["EventSourceArn"]) == (name, stream))


def _first_failed(result: Any, records: list[Any], *, reports: bool) -> str | None:
    """The first record that has to come again; all of them after an error, or a report that names none of them."""
    if result.get("error"):
        return _number(records[0])
    body = result.get("body")
    failures = body.get("batchItemFailures") if reports and isinstance(body, dict) else None
    if not failures:
        return None
    reported = {each.get("itemIdentifier") for each in failures}
    return next((_number(record) for record in records if _number(record) in reported), _number(records[0]))


def _number(record: Any) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
