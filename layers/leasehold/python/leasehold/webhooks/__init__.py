"""For those who receive webhooks: is this from our queue? It needs nothing but the standard library."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidOptionError
from leasehold.webhooks.standard import (
    ID,
    PREFIX,
    SIGNATURE,
    TIMESTAMP,
    TOLERANCE,
    WebhookVerificationError,
    parse_key,
    signature,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

__all__ = ["WebhookVerificationError", "new_key", "verify"]


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    key: str | Sequence[str],
    *,
    tolerance: timedelta = TOLERANCE,
    now: datetime | None = None,
) -> dict[str, Any]:
    """The event, if it is genuine; WebhookVerificationError if it is not.

    body: exactly as it came, before anything parsed it.
    key: the queue's key, or several of which one must fit, while it is being replaced.
    tolerance: how far the time of sending may be from now.

    >>> event = verify(request.body, request.headers, "whsec_…")               # doctest: +SKIP
    >>> event["type"], event["data"]["job_id"]                                 # doctest: +SKIP
    ('job.run.completed', '01a1de8a-…')
    """
    keys = [parse_key(each) for each in ([key] if isinstance(key, str) else key)]
    if not keys:
        raise InvalidOptionError(key, "there is no key to verify with", "Pass the key that the queue signs with.")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    message_id, sent, signatures = (given.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not message_id or not sent or not signatures:
        lacking = [name for name in (ID, TIMESTAMP, SIGNATURE) if not given.get(name)]
        raise WebhookVerificationError(f"the request has no header {' or '.join(lacking)}: it is no webhook of ours")
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
        raise WebhookVerificationError(f"{TIMESTAMP} is not a number of seconds")
    if abs((now or datetime.now(UTC)).timestamp() - int(sent)) > tolerance.total_seconds():
        raise WebhookVerificationError(
            f"{TIMESTAMP} is more than {tolerance.total_seconds():g} s from now: the request was sent again by "
            "somebody who saw it, or a clock is wrong"
        )
    expected = [signature(each, message_id, int(sent), raw).encode() for each in keys]
    # All are compared, in constant time, so that how long it takes tells nothing.
    matches = [
        hmac.compare_digest(each.encode(errors="replace"), wanted)
        for each in signatures.split(" ")
        for wanted in expected
    ]
    if not any(matches):
        raise WebhookVerificationError("no signature fits: the body was changed, or it was signed with another key")
    event: dict[str, Any] = json.loads(raw)
    return event


def new_key() -> str:
    """A fresh key, to be stored where the stage says."""
    return f"{PREFIX}{base64.b64encode(secrets.token_bytes(32)).decode()}"
