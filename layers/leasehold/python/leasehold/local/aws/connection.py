"""The queue that is deployed on a local AWS, as a program of the user's would open it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.aws.caller import LambdaCaller, connect_patiently
from leasehold.aws.identity import CallerIdentity
from leasehold.client.queue import Queue
from leasehold.local.aws.deployment import DEAD_LETTERS_TABLE, JOBS_TABLE
from leasehold.store.dynamodb.connection import connect

if TYPE_CHECKING:
    from leasehold.local.aws.instance import Running


def open_queue(running: Running) -> Queue:
    options: dict[str, Any] = running.client_options
    caller = LambdaCaller(partial(connect_patiently, **options))
    queue = Queue.connect(JOBS_TABLE, DEAD_LETTERS_TABLE, client=connect(**options), caller=caller)
    queue.parts.identity = CallerIdentity(**options)
    return queue
