"""The shape of a payload model: what every payload has that the model accepts. It refuses nothing else.

A JSON schema says less and more than its model: pydantic takes "5" for a number, names beside aliases, whatever a
validator of the user's turns into something. So the shape is taken from the model's own core schema, where it is
known; what is not known here has no shape, and everything fits.
"""

from __future__ import annotations

import enum
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

type Shape = dict[str, Any]

ANYTHING: Shape = {}
_SCALARS = frozenset({"bool", "date", "datetime", "time", "timedelta", "uuid"})
# What is as the one inside. A validator that runs afterwards can only refuse more.
_INNER = {"function-after": "schema", "lax-or-strict": "lax_schema", "json-or-python": "python_schema"}
_BOUNDS = ("gt", "ge", "lt", "le")
# What Rust's regular expressions and Python's do not read alike: of a word, a digit and a space too, each has its own
# idea (an accent that stands by itself is a part of a word to Rust, and none to Python).
_READ_OTHERWISE = re.compile(r"\[\[|&&|--|~~|\\[wWdDsSpPzZAxuUbB<>]|\(\?|\{,|\[\^?\]|[*+?}][+]")
_LENGTHS = {"min": "min_length", "max": "max_length"}
_CHANGES_TEXT = ("strip_whitespace", "to_lower", "to_upper")


def shape_of(model: Any) -> Shape:
    """The shape of a pydantic model, as JSON."""
    model.model_rebuild()
    reader = _Reader()
    shape = reader.read(model.__pydantic_core_schema__, {})
    return {**shape, "named": reader.named} if reader.named else shape


class _Reader:
    def __init__(self) -> None:
        self.named: dict[str, Shape] = {}
        self._numbers: dict[str, str] = {}

    def read(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        kind = str(schema["type"])
        if kind in _INNER:
            return self.read(schema[_INNER[kind]], config)
        read = getattr(self, f"_read_{kind.replace('-', '_')}", None)
        if read is not None:
            found: Shape = read(schema, config)
            return found
        return {"is": "scalar"} if kind in _SCALARS else ANYTHING

    def _read_definitions(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        for each in schema["definitions"]:
            self.named[self._name(each["ref"])] = self.read(each, config)
        return self.read(schema["schema"], config)

    def _read_definition_ref(self, schema: Mapping[str, Any], _config: object) -> Shape:
        return {"is": "named", "name": self._name(schema["schema_ref"])}

    def _name(self, ref: str) -> str:
        """Refs hold addresses of memory: the same model would look different at every deployment."""
        return self._numbers.setdefault(ref, str(len(self._numbers)))

    def _read_model(self, schema: Mapping[str, Any], _config: object) -> Shape:
        if schema.get("custom_init"):
            return ANYTHING
        return self.read(schema["schema"], schema.get("config") or {})

    def _read_model_fields(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        extra = schema.get("extra_behavior") or config.get("extra_fields_behavior")
        fields, is_closed = [], extra == "forbid"
        for name, field in schema["fields"].items():
            names = _names_of(name, field, config)
            if names is None:
                is_closed = False
                continue
            inner = field["schema"]
            fields.append([names, inner["type"] != "default", self.read(inner, config)])
        return {"is": "object", "fields": fields, **({"closed": True} if is_closed else {})}

    def _read_default(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        return self.read(schema["schema"], config) if schema.get("on_error", "raise") == "raise" else ANYTHING

    def _read_chain(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        return self.read(schema["steps"][0], config)

    def _read_nullable(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        return {"is": "either", "of": [{"is": "none"}, self.read(schema["schema"], config)]}

    def _read_union(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        choices = schema["choices"].values() if schema["type"] == "tagged-union" else schema["choices"]
        # With a label of its own a choice is a pair; in a union with tags, one may be another choice's tag.
        found = [each[0] if isinstance(each, tuple) else each for each in choices]
        if not all(isinstance(each, dict) for each in found):
            return ANYTHING
        return {"is": "either", "of": [self.read(each, config) for each in found]}

    _read_tagged_union = _read_union

    def _read_none(self, _schema: object, _config: object) -> Shape:
        return {"is": "none"}

    def _read_int(self, schema: Mapping[str, Any], _config: object) -> Shape:
        return {"is": schema["type"], **{name: schema[name] for name in _BOUNDS if _is_finite(schema.get(name))}}

    _read_float = _read_int

    def _read_str(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        if schema.get("coerce_numbers_to_str") or config.get("coerce_numbers_to_str"):
            return ANYTHING
        if any(schema.get(each) or config.get(f"str_{each}") for each in _CHANGES_TEXT):
            return {"is": "str"}
        shape: Shape = {"is": "str"}
        shape |= {name: schema[given] for name, given in _LENGTHS.items() if given in schema}
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not _READ_OTHERWISE.search(pattern):
            shape["pattern"] = pattern
        return shape

    def _read_list(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        shape: Shape = {"is": "list", "items": self.read(schema.get("items_schema") or {"type": "any"}, config)}
        if schema.get("min_length") is not None:
            shape["min"] = schema["min_length"]
        # Of a set only those are counted that are not the same.
        if schema.get("max_length") is not None and schema["type"] == "list":
            shape["max"] = schema["max_length"]
        return shape

    _read_set = _read_frozenset = _read_list

    def _read_tuple(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        items = schema["items_schema"]
        if schema.get("variadic_item_index") is not None:
            return {"is": "list", "items": self.read(items[0], config) if len(items) == 1 else ANYTHING}
        return {"is": "tuple", "items": [self.read(each, config) for each in items]}

    def _read_dict(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Shape:
        return {"is": "map", "values": self.read(schema.get("values_schema") or {"type": "any"}, config)}

    def _read_literal(self, schema: Mapping[str, Any], _config: object) -> Shape:
        return _one_of(list(schema["expected"]))

    def _read_enum(self, schema: Mapping[str, Any], _config: object) -> Shape:
        values = [each.value for each in schema["members"]]
        return _one_of(values) if _takes_only(values, schema["cls"]) else ANYTHING


def _names_of(name: str, field: Mapping[str, Any], config: Mapping[str, Any]) -> list[str] | None:
    """Under which keys a field is taken; None if it may lie elsewhere."""
    alias = field.get("validation_alias")
    if alias is None:
        return [name]
    if not isinstance(alias, str):
        return None
    by_name = config.get("validate_by_name") or config.get("populate_by_name")
    return [alias, name] if by_name or config.get("validate_by_alias") is False else [alias]


def _takes_only(values: list[object], kind: type[enum.Enum]) -> bool:
    """Whether an enum has no further ways to find a member: pydantic calls the class in the end, as anybody would."""
    missing = getattr(kind._missing_, "__func__", None)
    return (
        type(kind) is enum.EnumMeta
        and missing is enum.Enum._missing_.__func__  # type: ignore[attr-defined]
        and len(kind._value2member_map_) == len(values)
    )


def _one_of(values: list[object]) -> Shape:
    return {"is": "one of", "values": values} if all(type(each) is str for each in values) else ANYTHING


def _is_finite(bound: object) -> bool:
    return isinstance(bound, int | float) and math.isfinite(bound)
