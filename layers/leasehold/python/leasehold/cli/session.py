"""What a command works with: which queue it is about, an output, a clock, and somebody to ask."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leasehold.cli import exits
from leasehold.cli.options import option
from leasehold.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.admin.reading import Admin
    from leasehold.audit.roots import Archive
    from leasehold.kernel.ports import Clock
    from leasehold.local.aws.instance import Running
    from leasehold.verify.site import Site

_PANEL = "Which queue"
_option = partial(option, rich_help_panel=_PANEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """The options that every operators' command has, but for the first three, which are of those that act.

    A queue is found as the AWS CLI finds account and region.

    queue_name: of a deployed queue, whose tables AWS names, unless they are given.
    is_local: the local AWS that runs for the project at `root`; `queue_name` says which of several queues there.
    """

    reason: str = option(
        default="",
        show_default=False,
        help="Why; it is kept on record with who you are. Needed where the queue asks for it.",
    )
    dry_run: bool = option("--dry-run", default=False, help="Only show what would be done.")
    yes: bool = option("--yes", "-y", default=False, help="Do not ask; for scripts.")
    as_json: bool = option("--json", default=False, help="For programs: the answer, and errors, as JSON.")
    queue_name: str | None = _option(
        "--queue",
        envvar="LEASEHOLD_QUEUE",
        help="The name of a deployed queue, e.g. dev: AWS is asked where its tables are.",
    )
    is_local: bool = _option(
        "--local/--no-local", default=False, envvar="LEASEHOLD_LOCAL", help="The local AWS that runs on this machine."
    )
    root: Path = option(
        default=Path(), rich_help_panel=_PANEL, help="The project's folder, for --local.", show_default=False
    )
    jobs_table: str | None = _option(envvar="LEASEHOLD_JOBS_TABLE", help="The name of the table of jobs.")
    dead_letters_table: str | None = _option(
        envvar="LEASEHOLD_DEAD_LETTERS_TABLE", help="The name of the table of dead letters."
    )
    profile: str | None = _option(help="The AWS profile; by default as the AWS CLI finds it.")
    # boto3 itself reads AWS_DEFAULT_REGION only.
    region: str | None = _option(envvar="AWS_REGION", help="The AWS region; by default as the AWS CLI finds it.")
    endpoint_url: str | None = _option(help="Another endpoint than AWS's own.")

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


class Session:
    """One run of one command. Tests pass a kind of their own: `CliRunner().invoke(app, [...], obj=TheirSession)`."""

    def __init__(self, options: SharedOptions) -> None:
        self.options = options
        self.out = Output(as_json=options.as_json)
        self.reason, self.dry_run, self.yes = options.reason, options.dry_run, options.yes

    @cached_property
    def clock(self) -> Clock:
        from leasehold.kernel.ports import SystemClock

        return SystemClock()

    def now(self) -> datetime:
        return self.clock.now()

    @cached_property
    def admin(self) -> Admin:
        """The admin service of the queue, in the name of whoever AWS says we are."""
        from leasehold.admin.reading import Admin
        from leasehold.aws.clients import lean_session
        from leasehold.queue import Queue

        asked = self.options
        if asked.is_local:
            from leasehold.local.aws.connection import open_queue

            return Admin(open_queue(running_at(asked.root), asked.queue_name).services)
        open_client = lean_session(asked.profile).create_client
        queue = Queue.connect(*asked.tables(open_client), open_client=open_client, **asked.where)
        return Admin(queue.services)

    @property
    def queue_name(self) -> str | None:
        """As whoever typed the command calls it."""
        return self.options.queue_name or ("local" if self.options.is_local else None)

    def root_archive(self, bucket: str) -> Archive:
        """The daily roots of the audit that are kept in this bucket, reached as the tables are."""
        from leasehold.aws.archive import open_bucket

        return open_bucket(bucket, **self._client_options())

    def site(self) -> Site:
        """The deployment as its account shows it."""
        import boto3

        from leasehold.verify.site import Site

        asked, connection = self.options, self._client_options()
        if asked.is_local:
            from leasehold.local.aws.connection import queue_address

            address = queue_address(running_at(asked.root), asked.queue_name)
            name, tables = address.queue_name, (address.jobs_table, address.dead_letters_table)
        else:
            tables = asked.tables()
            name = asked.queue_name or tables[0]
        return Site(
            self.admin.queue,
            cache(lambda service: boto3.client(service, **connection)),
            name=name,
            tables=tables,
            is_local=asked.is_local or asked.endpoint_url is not None,
        )

    def _client_options(self) -> dict[str, Any]:
        """For clients of boto3, which are all of one profile then: that of the tables, and of who we are."""
        import boto3

        asked = self.options
        if asked.is_local:
            return running_at(asked.root).client_options
        boto3.setup_default_session(profile_name=asked.profile or None, region_name=asked.region or None)
        return asked.where

    def confirm(self, question: str) -> None:
        """Go on, or end with nothing done; a script that goes on after success does not go on then."""
        if not self.yes and not self.ask(question):
            self.out.hint("Nothing was done.")
            raise typer.Exit(exits.REFUSED)

    def ask(self, question: str) -> bool:
        from leasehold.kernel.errors import InvalidOptionError

        if not sys.stdin.isatty():
            raise InvalidOptionError(
                question, "nobody is there to confirm this", "Pass --yes, or --dry-run to look first."
            )
        return typer.confirm(question, err=True)


# Which of the options of actions a command has, said by the type of its session.
FOR_ACTIONS = {"reason", "dry_run", "yes"}
Acting = Annotated[Session, "reason"]
Asking = Annotated[Session, "reason", "yes"]
Previewing = Annotated[Session, "reason", "dry_run", "yes"]


def running_at(root: Path) -> Running:
    """The local AWS of the project there; ServerUnavailableError if it does not run."""
    from leasehold.kernel.errors import ServerUnavailableError
    from leasehold.local.aws.instance import LocalAws

    running = LocalAws(root.absolute()).running()
    if running is None:
        raise ServerUnavailableError("the local AWS", "it is not running", "Start it with: leasehold local deploy")
    return running
