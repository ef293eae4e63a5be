"""The trace: one line per step. The same seed gives the same lines, byte for byte."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.simulation.kernel import Kernel


class Trace:
    def __init__(self, kernel: Kernel) -> None:
        self.lines: list[str] = []
        self._kernel = kernel

    def note(self, who: str, what: str) -> None:
        self.lines.append(f"{self._kernel.micros / 1e6:12.6f} {who:<16} {what}")

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()


def keys_of(operation: str, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The keys that a call names, as far as it names any."""
    match operation:
        case "TransactWriteItems":
            return [_key(change) for each in request["TransactItems"] for change in each.values()]
        case "ExecuteTransaction":
            return [_key_of_statement(each) for each in request["TransactStatements"]]
        case "BatchGetItem":
            return [key for each in request["RequestItems"].values() for key in each["Keys"]]
        case "GetItem" | "UpdateItem" | "DeleteItem" | "PutItem":
            return [_key(request)]
        case _:
            return []


def described(operation: str, request: Mapping[str, Any]) -> str:
    keys = keys_of(operation, request)
    if keys:
        return " + ".join(_short(key) for key in keys[:4]) + (f" + {len(keys) - 4}" if len(keys) > 4 else "")
    if operation == "Query":
        values = [value.get("S", "") for value in request.get("ExpressionAttributeValues", {}).values()]
        return f"{request.get('IndexName', 'table')} {' '.join(values[:3])}"
    if "Statements" in request:
        return f"{len(request['Statements'])} statements"
    return json.dumps(request, sort_keys=True)[:80]


def _key(change: Mapping[str, Any]) -> dict[str, Any]:
    key: dict[str, Any] = change.get("Key") or change.get("Item") or {}
    return key


def _key_of_statement(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The key of an INSERT or an UPDATE of ours, where each name stands before its question mark."""
    names = re.findall(r"""['"](\w+)['"](?:: |=)\?""", statement["Statement"])
    named = zip(names, statement["Parameters"], strict=False)
    return {name: value for name, value in named if name in {"PK", "SK", "id"}}


def _short(key: Mapping[str, Any]) -> str:
    if "PK" not in key:
        return f"item {key.get('id', {}).get('S', '?')[-6:]}"
    partition, sort = key["PK"]["S"], key["SK"]["S"]
    if partition == "job" or partition.startswith("job#"):
        return f"job {sort[-6:]}"
    return f"{partition} {sort[-20:]}"
