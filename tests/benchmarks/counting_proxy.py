"""A proxy in front of a local AWS that counts what is asked of it: by whichever client, in whichever process."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


_HOST = "127.0.0.1"
_NOT_PASSED_ON = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class CountingProxy:
    """Passes requests on to `target`, an http address, for as long as a `with` block."""

    def __init__(self, target: str) -> None:
        self._counted: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _Server((_HOST, 0), _handler(urlsplit(target).netloc, self._count))

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def endpoint(self) -> str:
        return f"http://{_HOST}:{self.port}"

    def take(self) -> Counter[str]:
        """What was asked since this was last called, by operation."""
        with self._lock:
            counted, self._counted = self._counted, Counter()
        return counted

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _count(self, operation: str) -> None:
        with self._lock:
            self._counted[operation] += 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was stopped in the middle of a long poll is none of our business."""


def operation_of(target: str | None, body: bytes) -> str:
    """AWS's name of what is asked: in a header (JSON protocol) or in the form (query protocol)."""
    if target is not None:
        return target.rpartition(".")[2]
    return parse_qs(body.decode(errors="replace")).get("Action", ["?"])[0]


def _handler(target: str, count: Callable[[str], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else an answer's last bytes wait for the acknowledgement of its first.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.upstream = http.client.HTTPConnection(target, timeout=60)

        def finish(self) -> None:
            self.upstream.close()
            super().finish()

        def do_POST(self) -> None:
            self._pass_on("POST")

        def do_GET(self) -> None:
            self._pass_on("GET")

        def _pass_on(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            count(operation_of(self.headers.get("X-Amz-Target"), body))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            self.upstream.request(method, self.path, body=body, headers=headers)
            answer = self.upstream.getresponse()
            content = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    return Handler
