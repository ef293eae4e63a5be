"""The queue that is deployed on a local AWS, as a program of the user's would open it."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from leasehold.aws.caller import LambdaCaller, connect_patiently
from leasehold.aws.clients import CallerIdentity
from leasehold.aws.discovery import all_published, named
from leasehold.kernel.dynamodb.connection import table_config
from leasehold.kernel.errors import InvalidOptionError
from leasehold.queue import Queue

if TYPE_CHECKING:
    from leasehold.aws.discovery import QueueAddress
    from leasehold.local.aws.instance import Running


def open_queue(running: Running, queue_name: str | None = None) -> Queue:
    """The queue of that name; without a name, the only one that is deployed there."""
    options: dict[str, Any] = running.client_options
    caller = LambdaCaller(partial(connect_patiently, **options))
    address = queue_address(running, queue_name)
    tables = (address.jobs_table, address.dead_letters_table)
    queue = Queue.connect(
        *tables, client=_session().create_client("dynamodb", config=table_config(), **options), caller=caller
    )
    queue.services.identity = CallerIdentity(**options)
    return queue


def queue_address(running: Running, queue_name: str | None = None) -> QueueAddress:
    options: dict[str, Any] = running.client_options
    client = _session().create_client("ssm", **options)
    if queue_name is not None:
        return named(queue_name, {}, client=client)
    found = all_published(client)
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.queue_name for each in found)
    if not found:
        raise InvalidOptionError(None, "no queue is deployed on the local AWS", "Run `leasehold local deploy`.")
    raise InvalidOptionError(names, "there are several queues on the local AWS", "Name one of them with --queue.")


@cache
def _session() -> Any:
    """One for all clients, and botocore's own: what boto3 adds to it is imported for nothing here."""
    from botocore.loaders import Loader
    from botocore.session import get_session

    class KnownServices(Loader):
        """botocore looks through the folders of all its services to see whether it knows the one that is wanted."""

        def list_available_services(self, type_name: str) -> list[str]:
            return ["dynamodb", "ssm"]

    session = get_session()
    session.register_component("data_loader", KnownServices())
    return session
