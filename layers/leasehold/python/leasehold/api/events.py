"""Requests as API Gateway passes them on (payload 2.0), for servers that are no gateway."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping


def event_of(
    method: str,
    path: str,
    query: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    authorizer: Mapping[str, Any] | None = None,
    request_id: str = "local",
) -> dict[str, Any]:
    """`path` is quoted, as it came; `headers` have lower-case names. Nobody is authenticated unless it is said."""
    decoded = unquote(path)
    context: dict[str, Any] = {
        "http": {"method": method, "path": decoded},
        "stage": "$default",
        "requestId": request_id,
    }
    if authorizer is not None:
        context["authorizer"] = dict(authorizer)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "ANY /api/{proxy+}",
        "rawPath": decoded,
        "rawQueryString": query,
        "headers": dict(headers or {}),
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if body:
        event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return event
