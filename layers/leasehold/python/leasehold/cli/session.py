"""What a command works with: which queue it is about, an output, a clock, and somebody to ask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from leasehold.cli import exits

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.reading import Admin
    from leasehold.audit.roots import Archive
    from leasehold.cli.output import Output
    from leasehold.kernel.ports import Clock
    from leasehold.local.aws.instance import Running
    from leasehold.queue import Queue
    from leasehold.verify.site import Site

_option = partial(Option, rich_help_panel="Which queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The options that every operators' command has: a queue is found as the AWS CLI finds account and region.

    queue_name: of a deployed queue, whose tables AWS names, unless they are given.
    is_local: the local AWS that runs for the project at `root`; `queue_name` says which of several queues there.
    """

    queue_name: Annotated[
        str | None,
        _option(
            "--queue",
            envvar="LEASEHOLD_QUEUE",
            help="The name of a deployed queue, e.g. dev: AWS is asked where its tables are.",
        ),
    ] = None
    is_local: Annotated[
        bool, _option("--local/--no-local", envvar="LEASEHOLD_LOCAL", help="The local AWS that runs on this machine.")
    ] = False
    root: Annotated[Path, _option(help="The project's folder, for --local.", show_default=False)] = Path()
    jobs_table: Annotated[str | None, _option(envvar="LEASEHOLD_JOBS_TABLE", help="The name of the table of jobs.")] = (
        None
    )
    dead_letters_table: Annotated[
        str | None, _option(envvar="LEASEHOLD_DEAD_LETTERS_TABLE", help="The name of the table of dead letters.")
    ] = None
    profile: Annotated[str | None, _option(help="The AWS profile; by default as the AWS CLI finds it.")] = None
    # boto3 itself reads AWS_DEFAULT_REGION only.
    region: Annotated[
        str | None, _option(envvar="AWS_REGION", help="The AWS region; by default as the AWS CLI finds it.")
    ] = None
    endpoint_url: Annotated[str | None, _option(help="Another endpoint than AWS's own.")] = None

    @property
    def where(self) -> dict[str, Any]:
        """For clients that are made here; botocore finds AWS_ENDPOINT_URL and its like by itself."""
        return {"endpoint_url": self.endpoint_url, "region_name": self.region}

    def tables(self, open_client: Callable[..., Any] | None = None) -> tuple[str, str]:
        """The names of both tables; InvalidOptionError where they are not known."""
        from leasehold.aws.discovery import named
        from leasehold.kernel.errors import InvalidOptionError

        if self.jobs_table and self.dead_letters_table:
            return self.jobs_table, self.dead_letters_table
        if not self.queue_name:
            raise InvalidOptionError(
                {"queue": self.queue_name, "tables": (self.jobs_table, self.dead_letters_table)},
                "it is not said which queue this is about",
                "Pass --queue dev (or set LEASEHOLD_QUEUE), --local, or --jobs-table and --dead-letters-table.",
            )
        found = named(self.queue_name, {}, open_client=open_client, **self.where)
        return self.jobs_table or found.jobs_table, self.dead_letters_table or found.dead_letters_table


def open_admin(connection: Connection) -> Admin:
    """The admin service of that queue, in the name of whoever AWS says we are."""
    from leasehold.admin.reading import Admin
    from leasehold.aws.clients import lean_session
    from leasehold.queue import Queue

    if connection.is_local:
        return Admin(_local_queue(connection).services)
    open_client = lean_session(connection.profile).create_client
    queue = Queue.connect(*connection.tables(open_client), open_client=open_client, **connection.where)
    return Admin(queue.services)


def open_roots(connection: Connection, bucket: str) -> Archive:
    """The archive of audit roots in that bucket, reached as the tables are."""
    from leasehold.aws.archive import open_bucket

    if connection.is_local:
        return open_bucket(bucket, **running_at(connection.root).client_options)
    _set_session(connection)
    return open_bucket(bucket, **connection.where)


def open_site(connection: Connection) -> Site:
    """The deployment of that queue as its account shows it."""
    import boto3

    from leasehold.queue import Queue
    from leasehold.verify.site import Site

    options: dict[str, str] = {}
    if connection.is_local:
        from leasehold.local.aws.connection import queue_address

        running = running_at(connection.root)
        address, options = queue_address(running, connection.queue_name), running.client_options
        name, tables = address.queue_name, (address.jobs_table, address.dead_letters_table)
        queue = _local_queue(connection)
    else:
        _set_session(connection)
        tables = connection.tables()
        name = connection.queue_name or tables[0]
        if connection.endpoint_url:
            options = {"endpoint_url": connection.endpoint_url}
        queue = Queue.connect(*tables, **connection.where)
    return Site(
        queue,
        cache(lambda service: boto3.client(service, **options)),  # type: ignore[call-overload]
        name=name,
        tables=tables,
        is_local=connection.is_local or connection.endpoint_url is not None,
    )


def _set_session(connection: Connection) -> None:
    """Every client of this process is of one profile: that of the tables, and that which says who we are."""
    import boto3

    options: dict[str, Any] = {"profile_name": connection.profile, "region_name": connection.region}
    boto3.setup_default_session(**{name: value for name, value in options.items() if value})


def _local_queue(connection: Connection) -> Queue:
    from leasehold.local.aws.connection import open_queue

    return open_queue(running_at(connection.root), connection.queue_name)


def running_at(root: Path) -> Running:
    """The local AWS of the project there; ServerUnavailableError if it does not run."""
    from leasehold.kernel.errors import ServerUnavailableError
    from leasehold.local.aws.instance import LocalAws

    running = LocalAws(root.absolute()).running()
    if running is None:
        raise ServerUnavailableError("the local AWS", "it is not running", "Start it with: leasehold local deploy")
    return running


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
