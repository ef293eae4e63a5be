"""The console of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.console.backend import ApiBackend
from leasehold.console.server import DEFAULT_PORT, ConsoleServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.audit.roots import Archive
    from leasehold.kernel.services import Services


def console_of(
    services: Services,
    *,
    name: str | None = None,
    port: int = DEFAULT_PORT,
    open_roots: Callable[[str], Archive] | None = None,
) -> ConsoleServer:
    """Acts in the name of the parts' own identity: that of the operator who started it.

    name: as operators call the queue; without one, the name of its table stands there.
    open_roots: the archive of audit roots in a bucket, which a verification reads too.
    """
    shown = name or services.store.table.name
    return ConsoleServer(ApiBackend(services, open_roots), services.identity, name=shown, port=port)
