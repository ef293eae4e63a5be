"""The API on this machine, without a gateway: for the console, for tests, and to try it.

Whoever reaches it acts as the one whose credentials it has, with every right that the API gives: it listens on the
loopback interface only, and whoever serves a page with it checks hosts and origins (leasehold.console does).
"""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

from leasehold.api.answers import event_of
from leasehold.api.application import Application
from leasehold.api.callers import Caller
from leasehold.api.requests import MAX_BODY_BYTES
from leasehold.aws.api_access import Role
from leasehold.direct_runs.run import perform
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.services import Services

HOST = "127.0.0.1"
_LOGGER = logging.getLogger("leasehold.api")
_SILENT_FOR_SECONDS = 60


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class LocalApi:
    """Answers in the name of `parts.identity`, as an admin.

    >>> LocalApi(queue.services).answer("GET", "/api/control").status             # doctest: +SKIP
    200
    """

    def __init__(self, services: Services) -> None:
        caller = Caller(services.identity, Role.ADMIN)
        self._application = Application(
            services=services,
            authenticate=lambda _event: caller,
            starter=ThreadStarter(services),
            # One request at a time: a direct run is looked at again instead of waited for.
            patience=timedelta(0),
        )
        # Powertools keeps the request that it is at in one place for all threads.
        self._one_at_a_time = threading.Lock()

    def answer(
        self, method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> LocalAnswer:
        """`path` is quoted, as it came; `headers` have lower-case names."""
        with self._one_at_a_time:
            made = self._application.answer(event_of(method, path, query, headers, body))
        return LocalAnswer(made["statusCode"], made["headers"], made["body"].encode())


@dataclass(frozen=True, slots=True)
class ThreadStarter:
    """Does direct runs in this process, beside its requests."""

    services: Services

    def start(self, run_id: str) -> None:
        threading.Thread(target=self._perform, args=(run_id,), name=run_id, daemon=True).start()

    def _perform(self, run_id: str) -> None:
        try:
            perform(run_id, self.services, worker_id="local")
        except Exception:
            # Whoever asks for it is told that it was lost.
            _LOGGER.exception("the direct run %s failed", run_id)


class LocalServer:
    """
    >>> with LocalServer(queue.services) as server:                               # doctest: +SKIP
    ...     urlopen(f"{server.address}/api/control")
    """

    def __init__(self, services: Services, *, port: int = 0) -> None:
        self._server = _Server((HOST, port), _Handler)
        self._server.api = LocalApi(services)
        self._thread = threading.Thread(target=self._server.serve_forever, name="leasehold-api", daemon=True)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: LocalApi


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SILENT_FOR_SECONDS
    server: _Server

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > 2 * MAX_BODY_BYTES:
            # What is left of it must not be read as the next request.
            self.close_connection = True
            self.send_error(413)
            return
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        made = self.server.api.answer(self.command, path, query, headers, self.rfile.read(int(length)))
        self.send_response(made.status)
        for name, value in made.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(made.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(made.body)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = do_PUT = do_OPTIONS = do_TRACE = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        return
