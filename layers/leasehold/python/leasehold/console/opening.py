"""The console of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.console.backend import ApiBackend
from leasehold.console.server import DEFAULT_PORT, ConsoleServer

if TYPE_CHECKING:
    from leasehold.engine.parts import Parts


def console_of(parts: Parts, *, name: str, port: int = DEFAULT_PORT) -> ConsoleServer:
    """Acts in the name of the parts' own identity: that of the operator who started it."""
    return ConsoleServer(ApiBackend(parts), parts.identity, name=name, port=port)
