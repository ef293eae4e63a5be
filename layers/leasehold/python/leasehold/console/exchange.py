"""What comes in and what goes out, free of any HTTP server."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`headers` has lower-case names; `path` is still quoted, as it came."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes = b""
    content_type: str = JSON


def json_answer(document: object, status: int = 200) -> Answer:
    return Answer(status=status, body=json.dumps(document, ensure_ascii=False).encode())


def problem(status: int, code: str, detail: str) -> Answer:
    document = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code}
    return Answer(status=status, body=json.dumps({**document, "detail": detail}).encode(), content_type=PROBLEM)
