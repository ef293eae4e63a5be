"""Examples of payloads: made from the model's JSON schema, and shown only where they fit."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from leasehold import JobType, Operator, Registry
from leasehold.admin.reading import Admin
from leasehold.schemas.examples import example_of, with_example
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from leasehold.testing import LeaseholdTest


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    street: str
    zip: Annotated[str, Field(min_length=5)]


class Order(BaseModel):
    """All that payloads are usually made of."""

    id: UUID
    day: date
    at: datetime
    size: Size
    kind: Literal["gift"]
    to: Address
    lines: list[Address]
    amount: Annotated[float, Field(gt=10)]
    count: Annotated[int, Field(ge=3)]
    note: str | None
    urgent: bool
    left_out: int = 4


class Node(BaseModel):
    child: Node


class Patterned(BaseModel):
    sku: Annotated[str, Field(pattern="^[A-Z]{3}$")]


def shown(model: type[BaseModel]) -> object:
    test, shape = LeaseholdTest(), shape_of(model)
    Operator(test.services).publish(Registry(types={"order": JobType(name="order")}))
    schema = PayloadSchema(digest=digest_of(shape), shape=shape, code="c", document=model.model_json_schema())
    write_schema("order", schema, test.services.store.table)
    document = Admin(test.services).read.payload_schema("order")
    assert document is not None
    return document.get("examples")


def test_an_example_has_what_is_required_and_its_model_accepts_it() -> None:
    example = example_of(Order.model_json_schema())

    assert Order.model_validate(example).left_out == 4
    assert "left_out" not in example
    assert shown(Order) == [example]


def test_the_authors_own_example_is_the_one_that_is_shown() -> None:
    class Told(BaseModel):
        model_config = {"json_schema_extra": {"examples": [{"n": 7}]}}
        n: int

    assert shown(Told) == [{"n": 7}]


@pytest.mark.parametrize("document", [{"$ref": 5}, {"enum": {"a": 1}}, {"minLength": "many", "type": "string"}])
def test_a_schema_that_cannot_be_read_is_shown_as_it_is(document: dict[str, object]) -> None:
    assert with_example(PayloadSchema(digest="d", shape={}, code="c", document=document)) == document


@pytest.mark.parametrize("model", [Node, Patterned])
def test_an_example_that_would_not_fit_is_not_shown(model: type[BaseModel]) -> None:
    assert shown(model) is None
