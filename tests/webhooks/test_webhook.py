"""An address of a webhook is checked when it is given."""

from __future__ import annotations

import pytest

from leasehold.kernel.errors import InvalidOptionError
from leasehold.webhooks.address import MAX_WEBHOOK_BYTES, parse_webhook

BASE = "https://example.com/"


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com",
        "HTTPS://Example.com:8443/a/b.c?x=1&y=%20#"[:-1],
        "https://[2001:db8::1]:443/hook",
        "https://example.com?x=a@b.c",
        "https://hooks.example.com/T0/B0~_-!$'()*+,;=:@",
        BASE + "x" * (MAX_WEBHOOK_BYTES - len(BASE)),
    ],
)
def test_an_https_address_is_taken_as_it_is(address):
    assert parse_webhook(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        None,
        7,
        b"https://example.com",
        "example.com",
        "http://example.com",
        "ftp://example.com",
        "https://",
        "https:///path",
        "https://example.com:0",
        "https://example.com:65536",
        "https://example.com:port",
        "https://ada@example.com",
        "https://ada:secret@example.com",
        "https://ada:se/cret@example.com",
        "https://example.com\\@evil.example",
        "https://example.com/#part",
        "https://example.com/a b",
        "https://example.com/\n",
        "https://example.com\t/",
        "https://exämple.com/",
        "https://-example.com/",
        " https://example.com",
        BASE + "x" * (MAX_WEBHOOK_BYTES - len(BASE) + 1),
    ],
)
def test_anything_else_is_refused_and_no_password_is_shown(address):
    with pytest.raises(InvalidOptionError, match="a webhook is an https address of at most 2048 bytes") as refused:
        parse_webhook(address)

    assert "secret" not in str(refused.value)
    assert "cret" not in str(refused.value)
    assert "https://example.com/hooks/jobs" in str(refused.value)
