"""An example of a payload from the JSON schema of its model, for people who are about to write one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.schemas.check import misfits
from leasehold.schemas.records import UNREADABLE

if TYPE_CHECKING:
    from leasehold.schemas.records import PayloadSchema

_DEEPEST = 8
_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T09:00:00Z",
    "time": "09:00:00",
    "duration": "PT1H",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "ada@example.com",
    "uri": "https://example.com/",
}


def with_example(schema: PayloadSchema) -> dict[str, Any] | None:
    """Its document; one without examples of its author's gets one, if the check of payloads takes it."""
    document = schema.document
    if document is None or "examples" in document:
        return document
    try:
        example = example_of(document)
        return document if misfits(example, schema.shape) else {**document, "examples": [example]}
    except UNREADABLE:
        return document


def example_of(schema: dict[str, Any]) -> Any:
    """What is required, with the author's own examples and defaults where there are some. It may not fit: check it.

    >>> example_of({"type": "object", "properties": {"to": {"type": "string"}, "n": {"minimum": 2, "type": "integer"}},
    ...             "required": ["to", "n"]})
    {'to': 'text', 'n': 2}
    """
    return _example(schema, schema.get("$defs", {}), _DEEPEST)


def _example(schema: Any, known: dict[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth == 0:
        return None
    if "$ref" in schema:
        return _example(known.get(schema["$ref"].rpartition("/")[2]), known, depth - 1)
    for given in ("default", "const"):
        if given in schema:
            return schema[given]
    for several in ("examples", "enum"):
        if schema.get(several):
            return schema[several][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return _example(schema[several][0], known, depth - 1)
    return _of_its_type(schema, known, depth)


def _of_its_type(schema: dict[str, Any], known: dict[str, Any], depth: int) -> Any:
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _example(properties.get(name), known, depth - 1) for name in schema.get("required", ())}
        case "array":
            items = schema.get("prefixItems") or [schema.get("items")] * schema.get("minItems", 1)
            return [_example(each, known, depth - 1) for each in items]
        case "string":
            return _TEXTS.get(schema.get("format", ""), "text".ljust(schema.get("minLength", 0), "."))
        case "integer" | "number":
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        case kind:
            return True if kind == "boolean" else None
