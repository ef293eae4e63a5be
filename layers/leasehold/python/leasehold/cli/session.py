"""What a command works with: the admin service, an output, a clock, and somebody to ask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import typer

from leasehold.cli import exits
from leasehold.cli.connection import Connection, open_admin, open_roots, open_site
from leasehold.cli.terminal.output import Output

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.reading import Admin
    from leasehold.audit.roots import Archive
    from leasehold.kernel.ports import Clock
    from leasehold.verify.site import Site


def _system_clock() -> Clock:
    from leasehold.kernel.ports import SystemClock

    return SystemClock()


def ask_at_terminal(question: str) -> bool:
    from leasehold.kernel.errors import InvalidOptionError

    if not sys.stdin.isatty():
        raise InvalidOptionError(question, "nobody is there to confirm this", "Pass --yes, or --dry-run to look first.")
    return typer.confirm(question, err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What commands get from outside. Tests pass their own: `CliRunner().invoke(app, [...], obj=World(...))`."""

    open_admin: Callable[[Connection], Admin] = open_admin
    open_roots: Callable[[Connection, str], Archive] = open_roots
    open_site: Callable[[Connection], Site] = open_site
    clock: Clock = field(default_factory=_system_clock)
    ask: Callable[[str], bool] = ask_at_terminal


class Session:
    """One run of one command."""

    def __init__(self, world: World, connection: Connection, output: Output) -> None:
        self.world = world
        self.out = output
        self._connection = connection

    @cached_property
    def admin(self) -> Admin:
        return self.world.open_admin(self._connection)

    @property
    def queue_name(self) -> str | None:
        """As whoever typed the command calls it."""
        return self._connection.queue_name or ("local" if self._connection.is_local else None)

    def root_archive(self, bucket: str) -> Archive:
        """The daily roots of the audit that are kept in this bucket."""
        return self.world.open_roots(self._connection, bucket)

    def site(self) -> Site:
        """The deployment as its account shows it."""
        return self.world.open_site(self._connection)

    def now(self) -> datetime:
        return self.world.clock.now()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Go on, or end with nothing done; a script that goes on after success does not go on then."""
        if not yes and not self.world.ask(question):
            self.out.hint("Nothing was done.")
            raise typer.Exit(exits.REFUSED)
