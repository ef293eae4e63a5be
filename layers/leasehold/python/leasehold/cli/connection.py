"""Which queue a command is about, and how it is reached: like the AWS CLI finds its account, region and endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leasehold.admin.service import Admin
    from leasehold.audit.roots import Archive
    from leasehold.local.aws.instance import Running
    from leasehold.verify.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """stage: names the tables `leasehold-<stage>-jobs` and `leasehold-<stage>-dead-letters`, unless they are given.

    is_local: the local AWS that runs for the project at `root`.
    """

    stage: str | None = None
    jobs_table: str | None = None
    dead_letters_table: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    is_local: bool = False
    root: Path = Path()

    def tables(self) -> tuple[str, str]:
        """The names of both tables; InvalidOptionError where they are not known."""
        from leasehold.domain.errors import InvalidOptionError

        jobs, letters = self.jobs_table, self.dead_letters_table
        if self.stage:
            jobs = jobs or f"leasehold-{self.stage}-jobs"
            letters = letters or f"leasehold-{self.stage}-dead-letters"
        if not jobs or not letters:
            raise InvalidOptionError(
                {"stage": self.stage, "tables": (jobs, letters)},
                "it is not said which queue this is about",
                "Pass --stage dev (or set LEASEHOLD_STAGE), --local, or --jobs-table and --dead-letters-table.",
            )
        return jobs, letters


def open_admin(connection: Connection) -> Admin:
    """The admin service of that queue, in the name of whoever AWS says we are."""
    from leasehold.admin.service import Admin
    from leasehold.client.queue import Queue

    if connection.is_local:
        return Admin(_local_queue(connection.root).parts)
    tables = connection.tables()
    _set_session(connection)
    # boto3 finds AWS_ENDPOINT_URL and its like by itself.
    queue = Queue.connect(*tables, endpoint_url=connection.endpoint_url, region_name=connection.region)
    return Admin(queue.parts)


def open_roots(connection: Connection, bucket: str) -> Archive:
    """The archive of audit roots in that bucket, reached as the tables are."""
    from leasehold.audit.archive import open_bucket

    if connection.is_local:
        return open_bucket(bucket, **_running(connection.root).client_options)
    _set_session(connection)
    return open_bucket(bucket, endpoint_url=connection.endpoint_url, region_name=connection.region)


def open_site(connection: Connection) -> Site:
    """The deployment of that queue as its account shows it."""
    import boto3

    from leasehold.client.queue import Queue
    from leasehold.verify.site import Site

    if connection.is_local:
        from leasehold.local.aws.deployment import DEAD_LETTERS_TABLE, JOBS_TABLE

        tables, options = (JOBS_TABLE, DEAD_LETTERS_TABLE), _running(connection.root).client_options
        queue = _local_queue(connection.root)
    else:
        tables, options = connection.tables(), {}
        _set_session(connection)
        if connection.endpoint_url:
            options = {"endpoint_url": connection.endpoint_url}
        queue = Queue.connect(*tables, endpoint_url=connection.endpoint_url, region_name=connection.region)
    return Site(
        queue,
        cache(lambda service: boto3.client(service, **options)),  # type: ignore[call-overload]
        tables=tables,
        is_local=connection.is_local or connection.endpoint_url is not None,
    )


def _set_session(connection: Connection) -> None:
    """Every client of this process is of one profile: that of the tables, and that which says who we are."""
    import boto3

    options: dict[str, Any] = {"profile_name": connection.profile, "region_name": connection.region}
    boto3.setup_default_session(**{name: value for name, value in options.items() if value})


def _local_queue(root: Path) -> Any:
    from leasehold.local.aws.connection import open_queue

    return open_queue(_running(root))


def _running(root: Path) -> Running:
    from leasehold.domain.errors import ServerUnavailableError
    from leasehold.local.aws.instance import LocalAws

    running = LocalAws(root.absolute()).running()
    if running is None:
        raise ServerUnavailableError("the local AWS", "it is not running", "Start it with: leasehold local deploy")
    return running
