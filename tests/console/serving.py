"""A console that serves beside a test."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from leasehold.console.server import ConsoleServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.services import Services


@contextmanager
def serving(services: Services, **options: Any) -> Iterator[ConsoleServer]:
    server = ConsoleServer(services, port=0, **options)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
