"""What the console's page reads and does: the HTTP API itself, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from leasehold.admin.auditing import Auditor
from leasehold.api.local import LocalApi
from leasehold.console.exchange import Answer, json_answer, problem

if TYPE_CHECKING:
    from leasehold.console.exchange import Request
    from leasehold.engine.parts import Parts

# Not of the API: `leasehold audit verify` reads all trails, this one.
VERIFY = "/audit-check.json"


class ApiBackend:
    """Acts in the name of `parts.identity`."""

    def __init__(self, parts: Parts) -> None:
        self._api = LocalApi(parts)
        self._auditor = Auditor(parts)

    def handle(self, request: Request) -> Answer:
        if request.path == VERIFY:
            return self._verified(request)
        made = self._api.answer(request.method, request.path, request.query, request.headers, request.body)
        headers = {name.lower(): str(value) for name, value in made.headers.items()}
        content_type = headers.pop("content-type", "application/json")
        return Answer(status=made.status, body=made.body, content_type=content_type)

    def _verified(self, request: Request) -> Answer:
        target = parse_qs(request.query).get("target", [""])[0]
        if not target:
            return problem(400, "invalid_option", "Say which target: its trail is read from end to end.")
        flaws = [flaw.problem for _, found in self._auditor.verify(target) for flaw in found]
        return json_answer({"target": target, "flaws": flaws})
