"""Idempotency tokens of transactions."""

from __future__ import annotations

import hashlib

MAX_LENGTH = 36


def request_token(*parts: str) -> str:
    """The same write gives the same token, another write another one, in the 36 characters that DynamoDB allows."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:MAX_LENGTH]
