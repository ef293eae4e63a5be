"""Whatever a model accepts fits its shape: for models and payloads that nobody thought of."""

from __future__ import annotations

import enum
import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
)

from leasehold.kernel.errors import InvalidPayloadError
from leasehold.kernel.payload import decode, encode_value
from leasehold.kernel.table import Put
from leasehold.runtime.handler import BaseJobHandler
from leasehold.schemas import check
from leasehold.schemas.check import misfits
from leasehold.schemas.records import schema_key
from leasehold.schemas.shape import shape_of
from leasehold.testing.queue import LeaseholdTest


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Lenient(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.A


class Aliased(enum.Enum):
    A = "a"


Aliased.A._add_value_alias_("first")


class AnyCase(enum.EnumMeta):
    def __call__(cls, value: Any, *others: Any, **options: Any) -> Any:
        return super().__call__(value.lower() if isinstance(value, str) else value, *others, **options)


class Shouted(enum.Enum, metaclass=AnyCase):
    A = "a"


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    number: int = Field(alias="n", ge=0)


class Spaced(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)

    code: Annotated[str, Field(max_length=3, pattern="^[a-z]+$")]


SIMPLE = st.sampled_from(
    [
        *(int, float, bool, str, None, date, datetime, timedelta, Decimal, UUID, Colour, Level, Lenient, Any),
        *(Node, Strict, Spaced, Literal["a", "b"], Literal[1, True], Literal[None]),
        Annotated[int, Field(ge=0, lt=10)],
        Annotated[float, Field(gt=0.5)],
        Annotated[str, Field(min_length=1, max_length=3)],
        Annotated[str, Field(pattern=r"^[a-c]+$")],
        Annotated[str, Field(pattern=r"[[:alpha:]]")],
        Annotated[str, StringConstraints(to_lower=True, max_length=2)],
        Annotated[int, BeforeValidator(lambda value: 0)],
        Annotated[list[int], Field(min_length=1, max_length=2)],
        Annotated[set[int], Field(min_length=1, max_length=2)],
    ]
)
TYPES: st.SearchStrategy[Any] = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),  # type: ignore[valid-type]
        inner.map(lambda each: set[str] if each is Any else list[each] | None),  # type: ignore[valid-type]
        inner.map(lambda each: dict[str, each]),  # type: ignore[valid-type]
        inner.map(lambda each: tuple[each, int]),  # type: ignore[valid-type]
        inner.map(lambda each: tuple[each, ...]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1] if None not in pair else pair[0]),
    ),
    max_leaves=3,
)
FIELDS: st.SearchStrategy[Any] = st.tuples(
    TYPES,
    st.sampled_from(
        [Field(), Field(default=None), Field(alias="other"), Field(validation_alias=AliasChoices("x", "other"))]
    ),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(-2, 12)
    | st.sampled_from(["", " a ", "a", "b", "ab", "abcd", "red", "5", " 5 ", "1_0", "5.0", "inf", "true", "2026-11-18"])
    | st.sampled_from(["P1D", "0b1d6c1e-9a3e-4b57-8a3b-0f1f5a2f7d11", "1e3", "٣"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "name", "children", "n", "number", "code"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(("kind", "value"), [(Lenient, None), (Lenient, "z"), (Aliased, "first"), (Shouted, "A")])
def test_an_enum_with_its_own_way_to_find_members_refuses_nothing(kind: type[enum.Enum], value: str | None) -> None:
    model = create_model("Payload", a=(kind, ...))
    model.model_validate({"a": value})

    assert misfits({"a": value}, shape_of(model)) == []


def test_any_other_enum_takes_its_values_only() -> None:
    shape = shape_of(create_model("Payload", a=(Colour, ...)))

    assert misfits({"a": "red"}, shape) == []
    assert [str(each.path) for each in misfits({"a": "green"}, shape)] == ["payload.a"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"^\w+$", "cafe\u0301"), (r"^[\w-]+$", "a\u200d-b"), (r"^\S+$", "a\x1fb"), (r"^[^\s]+$", "\x1c")],
)
def test_a_class_of_characters_that_python_and_rust_see_otherwise_is_left_to_the_handler(
    pattern: str, text: str
) -> None:
    """An accent of its own, a joiner, a separator of units: pydantic takes them."""
    model = create_model("Payload", a=(Annotated[str, Field(pattern=pattern)], ...))
    model.model_validate({"a": text})

    assert misfits({"a": text}, shape_of(model)) == []


@settings(deadline=None, max_examples=400)
@given(fields=st.lists(FIELDS, min_size=1, max_size=3), data=st.data())
def test_what_the_model_accepts_fits(fields: list[Any], data: st.DataObject) -> None:
    names = ["a", "b", "c"][: len(fields)]
    model = create_model("Payload", **dict(zip(names, fields, strict=True)))
    shape = json.loads(json.dumps(shape_of(model)))
    payload = data.draw(st.dictionaries(st.sampled_from([*names, "other", "x"]), VALUES, max_size=4))
    try:
        stored = decode(encode_value(payload))
        model.model_validate(stored)
    except (ValidationError, InvalidPayloadError):
        return

    assert misfits(stored, shape) == []


class Invoice(BaseModel):
    model_config = ConfigDict(extra="forbid")

    subject: str = Field(min_length=2)
    lines: list[Node] = []
    colour: Colour | None = None
    amount: Annotated[float, Field(gt=0)] = 1.0


@pytest.mark.parametrize(
    ("payload", "path", "reason"),
    [
        ([], "payload", "is no object"),
        ({}, "payload.subject", "is missing"),
        ({"subject": 5}, "payload.subject", "is no text"),
        ({"subject": "a"}, "payload.subject", "has 1 characters; 2 are the least"),
        ({"subject": "ab", "amount": 0}, "payload.amount", "is not more than 0"),
        ({"subject": "ab", "amount": "much"}, "payload.amount", "is no number"),
        ({"subject": "ab", "colour": "green"}, "payload.colour", "is none of 'red', 'blue'"),
        ({"subject": "ab", "lines": {}}, "payload.lines", "is no list"),
        ({"subject": "ab", "lines": [{"name": "x", "children": [{}]}]}, "payload.lines[0].children[0].name", "missing"),
        ({"subject": "ab", "subjct": "ab"}, "payload.subjct", "is not known to the model"),
    ],
)
def test_what_cannot_fit_is_named_with_its_path(payload: Any, path: str, reason: str) -> None:
    shape = json.loads(json.dumps(shape_of(Invoice)))

    (found,) = misfits(payload, shape)

    assert (found.path, reason in found.reason) == (path, True)


def test_the_shape_is_the_same_at_every_deployment() -> None:
    assert shape_of(Node) == shape_of(Node)
    assert "0x" not in json.dumps(shape_of(Node))


class Leaf(BaseModel):
    name: str


class Left(BaseModel):
    inner: Left | Right | Leaf | None = None


class Right(BaseModel):
    inner: Left | Right | Leaf | None = None


class Chain(BaseModel):
    name: str
    after: Chain | None = None


def test_a_union_that_holds_itself_is_left_to_the_handler_where_it_has_too_many_ways() -> None:
    """Two to the power of sixty ways to read this one."""
    payload: Any = {"name": 5}
    for _ in range(60):
        payload = {"inner": payload}

    assert misfits(payload, shape_of(Left)) == []
    assert [each.path for each in misfits({"inner": {"inner": 5}}, shape_of(Left))] == ["payload.inner"]


def test_a_model_that_may_hold_itself_or_nothing_is_checked_to_its_depth() -> None:
    payload: Any = {"name": 5}
    for _ in range(40):
        payload = {"name": "a", "after": payload}

    assert [each.path for each in misfits(payload, shape_of(Chain))] == [f"payload{'.after' * 40}.name"]


@pytest.mark.parametrize(
    "damaged",
    [
        {"shape": None},
        {"shape": "{"},
        {"shape": "[]"},
        {"shape": json.dumps({"is": "object"})},
        {"shape": json.dumps({"is": "object", "fields": [["name"]]})},
        {"shape": json.dumps({"is": "object", "fields": 5})},
        {"code": None},
        {"document": "{"},
    ],
)
def test_an_item_that_cannot_be_read_leaves_every_payload_to_the_handler(
    damaged: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Naming(BaseJobHandler[Leaf]):
        def handle(self, payload: Leaf) -> None:
            """Nothing to do."""

    test = LeaseholdTest({"name": Naming})
    with pytest.raises(InvalidPayloadError):
        test.queue.enqueue("name", {})
    table, key = test.services.store.table, schema_key("name")
    record = {**(table.get(key) or {}), **damaged}
    kept = {name: value for name, value in record.items() if value is not None and name not in key.attributes}
    table.write(Put(key=key, record=kept, conditions=()))
    monkeypatch.setattr(check, "_SHAPES", {})

    assert test.queue.enqueue("name", {}).created
    assert test.drain()["dead_letter"] == 1
