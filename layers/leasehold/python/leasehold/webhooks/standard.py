"""Standard Webhooks 1.0: what a message is signed with, and how a receiver knows that it was."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
PREFIX = "whsec_"
MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64
TOLERANCE = timedelta(minutes=5)
_VERSION = "v1"


def parse_key(text: object) -> bytes:
    """A signing key from its text, `whsec_` and base64; the prefix may be left out."""
    try:
        assert isinstance(text, str)
        key = base64.b64decode(text.strip().removeprefix(PREFIX), validate=True)
    except (AssertionError, ValueError, binascii.Error):
        key = b""
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        # What stands there is a secret, or a piece of one: it is not shown.
        raise InvalidOptionError(
            f"<{type(text).__name__}>",
            f"a webhook key is {PREFIX} and the base64 of {MIN_KEY_BYTES} to {MAX_KEY_BYTES} random bytes",
            "Make one with leasehold.webhooks.new_key().",
        )
    return key


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """
    >>> signature(b"0" * 24, "msg_1", 1674087231, b"{}")
    'v1,yLZ+eTzorJpgvCEx1oQEw/rzasCtLCDkrrYdYQxE8ns='
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"{_VERSION},{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def signed_headers(keys: Sequence[bytes], message_id: str, sent_at: datetime, body: bytes) -> dict[str, str]:
    """The headers of one try; one signature for each key, so that a key can be replaced while both are in use."""
    timestamp = int(sent_at.timestamp())
    return {
        ID: message_id,
        TIMESTAMP: str(timestamp),
        SIGNATURE: " ".join(signature(key, message_id, timestamp, body) for key in keys),
    }


EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Keys by host; those of `*` are for every host that has none of its own."""

    by_host: Mapping[str, tuple[bytes, ...]]

    def of(self, host: str) -> tuple[bytes, ...]:
        return self.by_host.get(host) or self.by_host.get(EVERYBODY, ())

    @classmethod
    def parse(cls, place: str, text: str) -> SigningKeys:
        """One key, or several with blanks in between while one is replaced; or such a text for each host, as JSON.

        >>> sorted(SigningKeys.parse("p", '{"*": "%s", "a.example": "%s"}' % ("A" * 32, "B" * 32)).by_host)
        ['*', 'a.example']
        """
        try:
            given = json.loads(text) if text.startswith("{") else {EVERYBODY: text}
            keys = {host.lower(): tuple(parse_key(each) for each in several.split()) for host, several in given.items()}
        except (AttributeError, ValueError):  # no JSON, no text, or no key
            keys = {EVERYBODY: ()}
        if not all(keys.values()):
            # What stands there instead may be another secret: it is not shown.
            raise InvalidOptionError(
                place,
                "what is stored there are no webhook keys",
                'Store what leasehold.webhooks.new_key() makes, or {"*": "whsec_…", "hooks.example.com": "whsec_…"}.',
            )
        return cls(keys)


class WebhookVerificationError(LeaseholdError, code="webhook_not_verified"):
    """The request is forged, altered, replayed, or signed with another key: do not act on it. Answer with 401."""
