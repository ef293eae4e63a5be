"""The console's HTTP server: on the loopback interface of this machine, and on no other."""

from __future__ import annotations

import logging
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from leasehold.console.console import Console
from leasehold.console.exchange import Request, problem
from leasehold.console.security import HEADERS, MAX_BODY_BYTES, Guard
from leasehold.kernel.errors import ServerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.local import LocalAnswer
    from leasehold.audit.roots import Archive
    from leasehold.kernel.services import Services

HOST = "127.0.0.1"
DEFAULT_PORT = 8642
_LOGGER = logging.getLogger("leasehold.console")
_SILENT_FOR_SECONDS = 60
_TOO_LARGE = problem(413, "too_large", f"A request has a Content-Length of at most {MAX_BODY_BYTES} bytes.")
# How long a stop takes at most.
_LOOK_EVERY_SECONDS = 0.05


class ConsoleServer(ThreadingHTTPServer):
    """Acts in the name of the services' own identity: that of the operator who started it.

    name: as operators call the queue; without one, the name of its table stands there.
    open_roots: the archive of audit roots in a bucket, which a verification reads too.

    >>> server = ConsoleServer(queue.services, name="dev", port=0)           # doctest: +SKIP
    >>> print(server.url)                                                    # doctest: +SKIP
    >>> server.serve_forever()                                               # doctest: +SKIP
    """

    daemon_threads = True

    def __init__(
        self,
        services: Services,
        *,
        name: str | None = None,
        port: int = DEFAULT_PORT,
        open_roots: Callable[[str], Archive] | None = None,
    ) -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise ServerUnavailableError(
                "the console", f"port {port} cannot be used ({error.strerror})", "Choose another: --port 0 finds one."
            ) from None
        self.port: int = self.server_address[1]
        self.name = name or services.store.table.name
        self._guard = Guard(port=self.port)
        self.console = Console(services, self._guard, name=self.name, open_roots=open_roots)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def url(self) -> str:
        """What the operator opens, once or again. Whoever knows it may act: it is shown to nobody else."""
        return f"{self.address}/#token={self._guard.secret}"

    def serve_forever(self, poll_interval: float = _LOOK_EVERY_SECONDS) -> None:
        try:
            super().serve_forever(poll_interval)
        finally:
            self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        # Browsers hang up on what they no longer need.
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            _LOGGER.exception("the console lost a request")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SILENT_FOR_SECONDS
    server: ConsoleServer

    def _answer(self) -> None:
        request = self._request()
        answer = _TOO_LARGE if request is None else _handled(self.server.console, request)
        if request is None or answer.status >= 400:
            # What is left of a refused request must not be read as the next one.
            self.close_connection = True
        self.send_response(answer.status)
        for name, value in {**answer.headers, **HEADERS}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = do_PUT = do_OPTIONS = do_TRACE = do_CONNECT = _answer  # noqa: N815

    def _request(self) -> Request | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return None
        path, _, query = self.path.partition("?")
        return Request(
            method=self.command,
            path=path,
            query=query,
            # One that comes twice is neither of the two: it would match nothing of ours.
            headers={name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers},
            body=self.rfile.read(int(length)),
        )

    def version_string(self) -> str:
        return "leasehold"

    def log_message(self, format: str, *args: object) -> None:
        # Every request carries the secret: nothing of it is in a log.
        return


def _handled(console: Console, request: Request) -> LocalAnswer:
    try:
        return console.handle(request)
    except Exception as error:
        _LOGGER.exception("the console failed on %s %s", request.method, request.path)
        return problem(500, "internal_error", f"{type(error).__name__}: {error}")
