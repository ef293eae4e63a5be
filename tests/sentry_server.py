"""A small Sentry on a loopback port: it takes envelopes, refuses them, hangs, or is not there at all."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE_SECONDS = 20


class SentryServer:
    """`posts` are the bodies of all requests, unpacked; `events` are those that were answered with 200."""

    def __init__(self) -> None:
        self.posts: list[bytes] = []
        self.events: list[dict[str, Any]] = []
        self._status = 200
        self._headers: dict[str, str] = {}
        self._may_answer = threading.Event()
        self._may_answer.set()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def dsn(self) -> str:
        return f"http://public@127.0.0.1:{self._port}/1"

    def answer(self, status: int, **headers: str) -> None:
        self._status = status
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self._may_answer.set()

    def hang(self) -> None:
        """Take requests and leave them without an answer."""
        self._may_answer.clear()

    def up(self) -> None:
        """Listen, after a `down` on the same port as before."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler())
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def down(self) -> None:
        if self._server is not None:
            self._may_answer.set()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        sentry = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                sentry.posts.append(body)
                sentry._may_answer.wait(_PATIENCE_SECONDS)
                status = sentry._status if self.path == "/api/1/envelope/" else 404
                if status == 200:
                    sentry.events += events_of(body)
                try:
                    self.send_response(status)
                    for name, value in sentry._headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(b"{}")
                except OSError:
                    return  # nobody waited for the answer

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler


def events_of(envelope: bytes) -> list[dict[str, Any]]:
    """The events in an envelope: a header line, then for each item its own header line and its body."""
    header, _, rest = envelope.partition(b"\n")
    assert "event_id" in json.loads(header)
    found = []
    while rest.strip():
        item, _, rest = rest.partition(b"\n")
        length = json.loads(item)["length"]
        if json.loads(item)["type"] == "event":
            found.append(json.loads(rest[:length]))
        rest = rest[length:].removeprefix(b"\n")
    return found
