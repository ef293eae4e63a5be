"""The queue that is deployed on a local AWS, as a program of the user's would open it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import lean_session
from leasehold.aws.discovery import all_published, named
from leasehold.kernel.errors import InvalidOptionError
from leasehold.queue import Queue

if TYPE_CHECKING:
    from leasehold.aws.discovery import QueueAddress
    from leasehold.local.aws.instance import Running


def open_queue(running: Running, queue_name: str | None = None) -> Queue:
    """The queue of that name; without a name, the only one that is deployed there."""
    address = queue_address(running, queue_name)
    return Queue.connect(address.jobs_table, address.dead_letters_table, **_connection(running))


def queue_address(running: Running, queue_name: str | None = None) -> QueueAddress:
    where = _connection(running)
    if queue_name is not None:
        return named(queue_name, {}, **where)
    found = all_published(where.pop("open_client")("ssm", **where))
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.queue_name for each in found)
    if not found:
        raise InvalidOptionError(None, "no queue is deployed on the local AWS", "Run `leasehold local deploy`.")
    raise InvalidOptionError(names, "there are several queues on the local AWS", "Name one of them with --queue.")


def _connection(running: Running) -> dict[str, Any]:
    options = running.client_options
    where = {name: options.pop(name) for name in ("endpoint_url", "region_name")}
    return {**where, "open_client": partial(lean_session().create_client, **options)}
