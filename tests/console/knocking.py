"""Requests as anybody on this machine, or any site in the operator's browser, could send them."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.console.server import ConsoleServer


@dataclass(frozen=True)
class Knocked:
    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["code"])


@dataclass(frozen=True)
class Door:
    """The console's server, seen from outside. `keys` are the headers of its own page."""

    server: ConsoleServer

    def knock(
        self, method: str, path: str, headers: Mapping[str, str | None] | None = None, body: str | None = None
    ) -> Knocked:
        """Send exactly these headers, and a Host unless it is given; None leaves one out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        try:
            sent = {"Host": f"127.0.0.1:{self.server.port}", **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(None if body is None else body.encode())
            answer = connection.getresponse()
            return Knocked(answer.status, dict(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    def document(
        self, method: str, path: str, headers: Mapping[str, str | None], body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What it answers to a request that it should let in."""
        answer = self.knock(method, path, headers, None if body is None else json.dumps(body))
        assert answer.status in {200, 201}, answer.body
        document = json.loads(answer.body)
        assert isinstance(document, dict)
        return document

    def key(self) -> dict[str, str | None]:
        """What the page itself sends with every request."""
        return {"X-Leasehold-Console": self.server.url.partition("#token=")[2]}

    def keys(self) -> dict[str, str | None]:
        """What the page itself sends with a change."""
        return {**self.key(), "Origin": self.server.address, "Content-Type": "application/json"}


def scripts_and_styles(page: str) -> list[str]:
    return re.findall(r'(?:src|href)="(/[^"]+)"', page)
