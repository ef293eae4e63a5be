"""Payload values do not leave in the text of an error."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ValidationError

from leasehold.operate.failure_report import allowed_fields
from leasehold.telemetry.redaction import redacted

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json

EMAIL = "ada@example.com"


def test_a_value_is_replaced_by_the_name_of_its_field() -> None:
    text = f"ValueError: no user {EMAIL} for {EMAIL}"

    assert redacted(text, {"email": EMAIL}) == "ValueError: no user [payload.email] for [payload.email]"


def test_an_allowed_value_stays() -> None:
    payload: Json = {"order": "o-1234", "email": EMAIL, "copy_to": "o-1234"}

    assert redacted(f"o-1234 of {EMAIL}", payload, ["order"]) == "o-1234 of [payload.email]"


def test_values_deep_inside_are_found() -> None:
    payload: Json = {"customer": {"contacts": [{"email": EMAIL}]}}

    assert redacted(f"sent to {EMAIL}", payload) == "sent to [payload.customer]"


def test_values_that_are_no_text_are_found() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    payload: Json = {"card": 4111111111111111, "limit": Decimal("1234.50"), "at": at}

    text = f"4111111111111111 1234.50 {at} {at.isoformat()}"
    assert redacted(text, payload) == "[payload.card] [payload.limit] [payload.at] [payload.at]"


def test_a_value_is_found_as_repr_and_json_show_it() -> None:
    name = 'O\'Brien\t"Ü"'
    payload: Json = {"name": name}

    for shown in (repr(name), '"O\'Brien\\t\\"Ü\\""', '"O\'Brien\\t\\"\\u00dc\\""'):
        assert "Brien" not in redacted(f"KeyError: {shown}", payload), shown


def test_a_long_value_is_found_even_when_its_end_was_left_out() -> None:
    dead_letter = "Dear Ada, your test results of the third of March are as follows: " + "positive " * 30

    text = redacted(f"refused: {dead_letter[:120]}… (300 characters)", {"letter": dead_letter})

    assert text == "refused: [payload.letter]… (300 characters)"


def test_a_value_of_several_lines_is_found_line_by_line() -> None:
    assert redacted("first line\nsecond line", {"note": "first line\nsecond line"}) == "[payload.note]\n[payload.note]"


def test_half_a_value_at_the_cut_of_a_long_text_goes_with_its_line() -> None:
    assert redacted("…mple.com was refused\nValueError: no", {"email": EMAIL}) == "…\nValueError: no"


def test_a_short_value_is_left_since_it_occurs_by_random_source() -> None:
    assert redacted("ValueError: the eu is not at 42", {"region": "eu", "n": 42, "on": True, "x": None}) == (
        "ValueError: the eu is not at 42"
    )


def test_a_line_number_is_not_taken_for_a_value() -> None:
    frame = '  File "/var/task/handler.py", line 2026, in handle'

    assert redacted(f"{frame}\nKeyError: 2026", {"year": 2026}) == f"{frame}\nKeyError: [payload.year]"


def test_only_named_fields_of_an_object_are_allowed() -> None:
    assert allowed_fields({"order": 7, "email": EMAIL}, ("order", "missing")) == {"order": 7}
    assert allowed_fields([EMAIL], ("order",)) == {}
    assert allowed_fields({"order": 7}, ()) == {}


def test_keys_inside_of_a_payload_are_values_too() -> None:
    payload: Json = {"balances": {EMAIL: {"ssn 123-45-6789": 1}}, "grace@example.com": 7}

    assert redacted(f"KeyError: '{EMAIL}'", payload) == "KeyError: '[payload.balances]'"
    assert redacted("no ssn 123-45-6789 of grace@example.com", payload) == "no [payload.balances] of [payload]"


def test_a_key_that_is_a_name_is_not_taken_out_of_longer_names() -> None:
    payload: Json = {"user": {"name": "x"}, "name": "y"}

    assert redacted("NameError: no name of a surname", payload) == "NameError: no [payload.user] of a surname"


def test_what_pydantic_quotes_of_its_input_is_left_out() -> None:
    class Order(BaseModel):
        card: int
        note: str

    payload: Json = {"card": "4111-1111-1111-1111 until 12/29, on file since 2019, held by Ada", "note": "gift"}
    with pytest.raises(ValidationError) as refused:
        Order.model_validate(payload)

    text = redacted(str(refused.value), payload)

    assert "input_value=[payload], input_type=str" in text
    assert "4111" not in text
    assert "Ada" not in text


@pytest.mark.parametrize("dots", ["...", "…"])
def test_a_value_that_was_cut_in_its_middle_is_not_told_by_its_ends(dots: str) -> None:
    card = "4111-1111-1111-1111 until 12/29"

    text = redacted(f"refused {{'card': '{card[:10]}{dots}{card[-12:]}'}}", {"card": card})

    assert text == f"refused {{'card': '[payload.card]{dots}[payload.card]'}}"
