"""The admin service: what every surface (HTTP API, command line, console) is built on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin.acting import Actions
from leasehold.admin.auditing import Auditor
from leasehold.admin.reading import Reader

if TYPE_CHECKING:
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Identity


class Admin:
    """Reads, actions and the audit trail, in the name of one identity."""

    def __init__(self, parts: Parts) -> None:
        self.read = Reader(parts)
        self.act = Actions(parts)
        self.audit = Auditor(parts)
        self._parts = parts

    @property
    def parts(self) -> Parts:
        """What it is made of, for surfaces that build on it."""
        return self._parts

    def acting_as(self, identity: Identity) -> Admin:
        """The same service for somebody else, whom a surface has authenticated."""
        return Admin(self._parts.acting_as(identity))
