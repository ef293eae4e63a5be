"""Idempotency tokens of transactions."""

from __future__ import annotations

import hashlib

MAX_LENGTH = 36


def content_token(token: str, content: object) -> str:
    """A caller's token made one with what it asks for.

    DynamoDB refuses a token that comes back with other content (IdempotentParameterMismatch). Who was refused, looked
    again and now asks for something else makes another transaction, whose own conditions decide about it.
    """
    return request_token(token, repr(content))


def request_token(*parts: str) -> str:
    """The same write gives the same token, another write another one, in the 36 characters that DynamoDB allows."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:MAX_LENGTH]
