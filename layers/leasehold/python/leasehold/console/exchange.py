"""What comes in and what goes out, free of any HTTP server."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.api.answers import JSON, PROBLEM
from leasehold.api.local import LocalAnswer
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`headers` has lower-case names; `path` is still quoted, as it came."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def answer(body: bytes, content_type: str, status: int = 200) -> LocalAnswer:
    return LocalAnswer(status, {"Content-Type": content_type}, body)


def json_answer(document: object) -> LocalAnswer:
    return answer(json.dumps(document, ensure_ascii=False).encode(), JSON)


def problem(status: int, code: str, detail: str) -> LocalAnswer:
    document = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code}
    return answer(json.dumps({**document, "detail": detail}).encode(), PROBLEM, status)
