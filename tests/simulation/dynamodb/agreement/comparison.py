"""What of two answers must be the same: codes, items, reasons, cursors and units. Wording is each engine's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from tests.simulation.dynamodb.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

type Outcome = dict[str, Any]


class Engine(Protocol):
    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...


def outcome_of(engine: Engine, operation: str, request: dict[str, Any]) -> Outcome:
    """The answer or the refusal, in a form that two engines can share."""
    try:
        answer = engine.call(operation, request)
    except Refusal as refusal:
        return _refused(refusal)
    outcome = {name: _FORMS.get(name, _as_is)(value) for name, value in answer.items() if value not in ({}, None)}
    if operation == "Scan" and "Items" in outcome:
        outcome["Items"] = in_any_order(outcome["Items"])
    return outcome


def _refused(refusal: Refusal) -> Outcome:
    outcome: Outcome = {"code": refusal.code}
    if item := refusal.fields.get("Item"):
        outcome["Item"] = _form(item)
    if "CancellationReasons" in refusal.fields:
        outcome["reasons"] = [
            {"code": each.get("Code", "None"), "Item": _form(each.get("Item") or {})}
            for each in refusal.fields["CancellationReasons"]
        ]
    return outcome


def in_any_order(items: list[Any]) -> list[Any]:
    return sorted(map(_form, items), key=lambda item: json.dumps(item, sort_keys=True))


def _as_is(value: Any) -> Any:
    return value


def _form(value: Any) -> Any:
    """Sets have no order."""
    if isinstance(value, dict):
        return {name: sorted(held) if name in {"SS", "NS", "BS"} else _form(held) for name, held in value.items()}
    return [_form(each) for each in value] if isinstance(value, list) else value


def _batch(responses: Any) -> Any:
    if isinstance(responses, dict):
        return {table: in_any_order(items) for table, items in responses.items() if items}
    return [_statement(response) for response in responses]


def _statement(response: Mapping[str, Any]) -> Any:
    error = response.get("Error")
    if error:
        return {"code": error["Code"], "Item": _form(error.get("Item") or {})}
    return {"Item": _form(response.get("Item") or {})}


def _capacity(consumed: Any) -> Any:
    listed = consumed if isinstance(consumed, list) else [consumed]
    return sorted(
        ((each["TableName"], _kind(each), each.get("CapacityUnits"), _parts(each)) for each in listed), key=repr
    )


def _kind(consumed: Mapping[str, Any]) -> list[str]:
    return [name for name in ("ReadCapacityUnits", "WriteCapacityUnits") if consumed.get(name)]


def _parts(consumed: Mapping[str, Any]) -> dict[str, float]:
    parts = {"": consumed["Table"]["CapacityUnits"]} if "Table" in consumed else {}
    indexes = consumed.get("GlobalSecondaryIndexes") or {}
    return {
        name: units for name, units in (parts | {n: i["CapacityUnits"] for n, i in indexes.items()}).items() if units
    }


_FORMS = {"ConsumedCapacity": _capacity, "Responses": _batch, "Attributes": _form, "Item": _form, "Items": _form}
