"""For those who receive webhooks: is this from our queue? It needs nothing but the standard library."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidOptionError
from leasehold.webhooks.standard import TOLERANCE, WebhookVerificationError, key_text, parse_key, verify_signed

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
    verify_signed(raw, headers, keys, now=now or datetime.now(UTC), tolerance=tolerance)
    event: dict[str, Any] = json.loads(raw)
    return event


def new_key() -> str:
    """A fresh key, to be stored where the stage says."""
    return key_text(secrets.token_bytes(32))
