"""What JSON cannot carry is refused, with the path to it."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest

from leasehold.kernel.errors import InvalidPayloadError, PayloadTooLargeError
from leasehold.kernel.payload import encode, encode_payload, encode_result


class Level(IntEnum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


def nested(levels: int) -> object:
    value: object = "core"
    for _ in range(levels):
        value = [value]
    return value


SELF_REFERENCING: dict[str, Any] = {"user": {}}
SELF_REFERENCING["user"]["back"] = SELF_REFERENCING

REFUSED: dict[str, tuple[object, str, str]] = {
    "NaN": ({"a": [1, {"b": math.nan}]}, "payload.a[1].b", "is not a finite number"),
    "infinity": ([math.inf], "payload[0]", "is not a finite number"),
    "minus infinity": (-math.inf, "payload", "is not a finite number"),
    "a decimal NaN": ({"price": Decimal("NaN")}, "payload.price", "is not a finite number"),
    "a signalling decimal NaN": ({"price": Decimal("sNaN")}, "payload.price", "is not a finite number"),
    "a decimal infinity": ({"price": Decimal("-Infinity")}, "payload.price", "is not a finite number"),
    "a naive datetime": ({"at": datetime(2026, 1, 1)}, "payload.at", "has no timezone"),  # noqa: DTZ001
    "a date": ({"on": date(2026, 1, 1)}, "payload.on", "is a date"),
    "a set": ({"tags": {"x"}}, "payload.tags", "is a set"),
    "a tuple": ({"pair": (1, 2)}, "payload.pair", "is a tuple"),
    "bytes": ({"blob": [b"x"]}, "payload.blob[0]", "is a bytes"),
    "an object": (object(), "payload", "is a object"),
    "a uuid": ({"id": UUID(int=7)}, "payload.id", "is a UUID"),
    "a whole-number enum": ({"level": Level.LOW}, "payload.level", "is a Level"),
    "a text enum": ({"colour": Colour.RED}, "payload.colour", "is a Colour"),
    "a number as key": ({"by_id": {7: "x"}}, "payload.by_id[7]", "has a key that is not a string"),
    "None as key": ({None: "x"}, "payload[None]", "has a key that is not a string"),
    "an enum as key": ({Colour.RED: 1}, "payload[<Colour.RED: 'red'>]", "has a key that is not a string"),
    "half a surrogate pair": ({"name": "\ud83e"}, "payload.name", "holds half of a surrogate pair"),
    "half a surrogate pair in a key": ({"user": {"\ud83e": 1}}, "payload.user", "holds half of a surrogate pair"),
    "65 levels": (nested(65), "payload" + "[0]" * 65, "is nested deeper than 64"),
    "itself": (SELF_REFERENCING, "payload" + ".user.back" * 32 + ".user", "is nested deeper than 64"),
    "5,000 digits": ({"n": [0, 10**5000]}, "payload.n[1]", "has more digits"),
}


@pytest.mark.parametrize(("value", "path", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_json_cannot_carry_is_refused_with_its_exact_path(value, path, reason):
    with pytest.raises(InvalidPayloadError) as refused:
        encode_payload(value)

    assert refused.value.path == path
    assert reason in refused.value.reason
    assert refused.value.fix


def test_the_message_names_the_place_the_value_and_the_fix():
    with pytest.raises(InvalidPayloadError) as refused:
        encode({"orders": [{"total": math.nan}]})

    assert str(refused.value) == (
        "payload value at payload.orders[0].total is not a finite number: got nan. "
        "JSON has no NaN or infinity: use None."
    )


def test_a_result_is_refused_by_its_own_name():
    with pytest.raises(InvalidPayloadError) as refused:
        encode_result({"rows": {1}})

    assert refused.value.path == "result.rows"


@pytest.mark.parametrize(
    ("encoder", "what", "limit"), [(encode_payload, "payload", 200 * 1024), (encode_result, "result", 64 * 1024)]
)
def test_one_byte_too_many_is_refused_with_both_sizes(encoder, what, limit):
    with pytest.raises(PayloadTooLargeError) as refused:
        encoder("x" * (limit - 1))

    assert (refused.value.size, refused.value.limit) == (limit + 1, limit)
    assert str(refused.value).startswith(f"the {what} is larger than the limit of {limit} bytes: got '{limit + 1} byt")
    assert "Store the data elsewhere" in str(refused.value)


def test_a_message_never_carries_a_payload():
    with pytest.raises(InvalidPayloadError) as refused:
        encode({"k" * 10_000: ("secret " * 10_000,)})

    assert len(str(refused.value)) < 700
