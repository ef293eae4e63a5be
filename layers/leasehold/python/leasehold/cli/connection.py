"""Which queue a command is about, and how it is reached: like the AWS CLI finds its account, region and endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.admin.reading import Admin
    from leasehold.audit.roots import Archive
    from leasehold.local.aws.instance import Running
    from leasehold.verify.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """queue_name: of a deployed queue, whose tables AWS names, unless they are given.

    is_local: the local AWS that runs for the project at `root`; `queue_name` says which of several queues there.
    """

    queue_name: str | None = None
    jobs_table: str | None = None
    dead_letters_table: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    is_local: bool = False
    root: Path = Path()

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
        where: dict[str, Any] = {"endpoint_url": self.endpoint_url, "region_name": self.region}
        found = named(self.queue_name, {}, open_client=open_client, **where)
        return self.jobs_table or found.jobs_table, self.dead_letters_table or found.dead_letters_table


def open_admin(connection: Connection) -> Admin:
    """The admin service of that queue, in the name of whoever AWS says we are."""
    from leasehold.admin.reading import Admin
    from leasehold.aws.clients import lean_session
    from leasehold.queue import Queue

    if connection.is_local:
        return Admin(_local_queue(connection).services)
    open_client = lean_session(connection.profile).create_client
    tables = connection.tables(open_client)
    # botocore finds AWS_ENDPOINT_URL and its like by itself.
    queue = Queue.connect(
        *tables, open_client=open_client, endpoint_url=connection.endpoint_url, region_name=connection.region
    )
    return Admin(queue.services)


def open_roots(connection: Connection, bucket: str) -> Archive:
    """The archive of audit roots in that bucket, reached as the tables are."""
    from leasehold.aws.archive import open_bucket

    if connection.is_local:
        return open_bucket(bucket, **_running(connection.root).client_options)
    _set_session(connection)
    return open_bucket(bucket, endpoint_url=connection.endpoint_url, region_name=connection.region)


def open_site(connection: Connection) -> Site:
    """The deployment of that queue as its account shows it."""
    import boto3

    from leasehold.queue import Queue
    from leasehold.verify.site import Site

    options: dict[str, str] = {}
    if connection.is_local:
        from leasehold.local.aws.connection import queue_address

        running = _running(connection.root)
        address, options = queue_address(running, connection.queue_name), running.client_options
        name, tables = address.queue_name, (address.jobs_table, address.dead_letters_table)
        queue = _local_queue(connection)
    else:
        _set_session(connection)
        tables = connection.tables()
        name = connection.queue_name or tables[0]
        if connection.endpoint_url:
            options = {"endpoint_url": connection.endpoint_url}
        queue = Queue.connect(*tables, endpoint_url=connection.endpoint_url, region_name=connection.region)
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


def _local_queue(connection: Connection) -> Any:
    from leasehold.local.aws.connection import open_queue

    return open_queue(_running(connection.root), connection.queue_name)


def _running(root: Path) -> Running:
    from leasehold.kernel.errors import ServerUnavailableError
    from leasehold.local.aws.instance import LocalAws

    running = LocalAws(root.absolute()).running()
    if running is None:
        raise ServerUnavailableError("the local AWS", "it is not running", "Start it with: leasehold local deploy")
    return running
