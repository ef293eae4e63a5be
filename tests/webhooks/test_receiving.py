"""Receivers know our webhooks by their signature; so do the public Standard Webhooks libraries, and we know theirs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook
from standardwebhooks import WebhookVerificationError as TheirError

from leasehold.kernel.errors import InvalidOptionError
from leasehold.webhooks import WebhookVerificationError, new_key, verify
from leasehold.webhooks.standard import SigningKeys, parse_key, signature, signed_headers
from tests.test_imports import imported_by

KEY, OTHER = new_key(), new_key()
BODY = b'{"type":"job.run.completed","data":{}}'


def headers(*keys: str, body: bytes = BODY, at: datetime | None = None) -> dict[str, str]:
    return signed_headers([parse_key(each) for each in keys], "msg_1", at or datetime.now(UTC), body)


def test_what_we_sign_is_verified_by_us_and_by_the_public_library() -> None:
    assert verify(BODY, headers(KEY), KEY) == json.loads(BODY)
    assert Webhook(KEY).verify(BODY, headers(KEY)) == json.loads(BODY)


def test_what_the_public_library_signs_is_verified_by_us() -> None:
    now = datetime.now(UTC)
    signed = Webhook(KEY).sign("msg_1", now, BODY.decode())
    sent = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(now.timestamp())), "Webhook-Signature": signed}

    assert verify(BODY, sent, KEY) == json.loads(BODY)


@given(st.binary(min_size=24, max_size=64), st.text(st.characters(codec="ascii"), max_size=40), st.integers(0, 2**33))
def test_our_signatures_are_those_of_the_public_library(key: bytes, text: str, timestamp: int) -> None:
    theirs = Webhook(key).sign("m", datetime.fromtimestamp(timestamp, UTC), text)

    assert signature(key, "m", timestamp, text.encode()) == theirs


def test_the_example_of_the_specification_s_own_tests_is_verified() -> None:
    """Published with the reference libraries: a fixed key, id, time, body and signature."""
    sent_at = datetime.fromtimestamp(1614265330, UTC)
    sent = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }

    assert verify('{"test": 2432232314}', sent, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now=sent_at)


def test_while_a_key_is_replaced_receivers_with_either_verify() -> None:
    both = headers(KEY, OTHER)

    assert verify(BODY, both, KEY) == verify(BODY, both, OTHER) == Webhook(OTHER).verify(BODY, both)
    assert verify(BODY, headers(OTHER), [KEY, OTHER])


FORGED = {
    "another body": (BODY + b" ", headers(KEY)),
    "another key": (BODY, headers(OTHER)),
    "another id": (BODY, {**headers(KEY), "webhook-id": "msg_2"}),
    "another time": (BODY, {**headers(KEY), "webhook-timestamp": str(int(datetime.now(UTC).timestamp()) + 1)}),
    "no signature": (BODY, {**headers(KEY), "webhook-signature": ""}),
    "no headers": (BODY, {}),
    "a signature of another version": (
        BODY,
        {**headers(KEY), "webhook-signature": headers(KEY)["webhook-signature"].replace("v1,", "v1a,")},
    ),
    "no base64": (BODY, {**headers(KEY), "webhook-signature": "v1,ä v1, , v1"}),
    "no time": (BODY, {**headers(KEY), "webhook-timestamp": "now"}),
    "a time in other digits": (BODY, {**headers(KEY), "webhook-timestamp": "\u0661\u0662"}),
    "an endless time": (BODY, {**headers(KEY), "webhook-timestamp": "9" * 5000}),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_is_not_ours_is_refused_by_name(what: str) -> None:
    body, sent = FORGED[what]

    with pytest.raises(WebhookVerificationError):
        verify(body, sent, KEY)


@pytest.mark.parametrize("off_by", [timedelta(minutes=-6), timedelta(minutes=6)])
def test_what_was_sent_long_ago_or_will_be_is_refused_by_us_and_by_the_public_library(off_by: timedelta) -> None:
    sent = headers(KEY, at=datetime.now(UTC) + off_by)

    with pytest.raises(WebhookVerificationError, match="more than 300 s from now"):
        verify(BODY, sent, KEY)
    with pytest.raises(TheirError):
        Webhook(KEY).verify(BODY, sent)
    assert verify(BODY, sent, KEY, tolerance=timedelta(minutes=7))


@pytest.mark.parametrize("key", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_" + "A" * 100, "no base64 at all!", None, b"x"])
def test_a_key_that_is_none_is_refused_without_being_shown(key: object) -> None:
    with pytest.raises(InvalidOptionError, match="a webhook key is whsec_") as refused:
        verify(BODY, headers(KEY), [key])  # type: ignore[list-item]

    assert "c2hvcnQ" not in str(refused.value)


def test_no_key_at_all_verifies_nothing() -> None:
    with pytest.raises(InvalidOptionError, match="no key to verify with"):
        verify(BODY, headers(KEY), [])


def test_a_receiver_needs_nothing_but_the_standard_library() -> None:
    assert imported_by("leasehold.webhooks") == set()


def test_each_receiver_may_have_a_key_of_its_own() -> None:
    keys = SigningKeys.parse("place", json.dumps({"*": KEY, "Hooks.example.com": f"{OTHER} {KEY}"}))

    assert keys.of("anybody.example.com") == (parse_key(KEY),)
    assert keys.of("hooks.example.com") == (parse_key(OTHER), parse_key(KEY))
    assert SigningKeys.parse("place", json.dumps({"a.example": KEY})).of("b.example") == ()


@pytest.mark.parametrize(
    "text", ["", "  ", "hunter2", "{", '{"*": 7}', '{"*": ""}', '{"*": ["x"]}', f"{'A' * 32} hunter2"]
)
def test_what_is_stored_in_place_of_keys_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="what is stored there are no webhook keys: got 'place'") as refused:
        SigningKeys.parse("place", text)

    assert "hunter2" not in str(refused.value)
