"""The API in this process, without a gateway: for the console, and for programs that try it.

Whoever reaches it acts as the one whose credentials it has, with every right that the API gives: whoever serves it
checks hosts and origins, and listens on the loopback interface only (leasehold.console does).
"""

from __future__ import annotations

import base64
import logging
import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from leasehold.api.application import Application
from leasehold.api.callers import Caller
from leasehold.aws.api_access import Role
from leasehold.direct_runs.run import perform
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.services import Services

_LOGGER = logging.getLogger("leasehold.api")


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class LocalApi:
    """Answers in the name of `services.identity`, as an admin.

    >>> LocalApi(queue.services).answer("GET", "/api/control").status             # doctest: +SKIP
    200
    """

    def __init__(self, services: Services) -> None:
        caller = Caller(services.identity, Role.ADMIN)
        self._application = Application(
            services=services,
            authenticate=lambda _event: caller,
            start_run=partial(_start_beside, services),
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


def _start_beside(services: Services, run_id: str) -> None:
    """Do a direct run in this process, beside its requests."""
    threading.Thread(target=_perform, args=(run_id, services), name=run_id, daemon=True).start()


def _perform(run_id: str, services: Services) -> None:
    try:
        perform(run_id, services, worker_id="local")
    except Exception:
        # Whoever asks for it is told that it was lost.
        _LOGGER.exception("the direct run %s failed", run_id)


def event_of(
    method: str, path: str, query: str = "", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> dict[str, Any]:
    """`path` is quoted, as it came; `headers` have lower-case names. Nobody is authenticated."""
    decoded = unquote(path)
    return {
        "version": "2.0",
        "routeKey": "ANY /api/{proxy+}",
        "rawPath": decoded,
        "rawQueryString": query,
        "headers": dict(headers or {}),
        "requestContext": {
            "http": {"method": method, "path": decoded},
            "stage": "$default",
            "requestId": "local",
        },
        "isBase64Encoded": bool(body),
        **({"body": base64.b64encode(body).decode()} if body else {}),
    }
