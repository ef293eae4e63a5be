"""The SDK: what a program imports to put work into the queue and to look after it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from leasehold.bulk.sdk import BulkVerbs
from leasehold.features import Store
from leasehold.kernel.enqueue import NewJob, OnDuplicate, enqueue
from leasehold.kernel.services import Services
from leasehold.operate.verbs import QueueVerbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.bulk.sdk import EnqueueOptions
    from leasehold.direct_runs.run import Caller
    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.payload import Json
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload
    from leasehold.telemetry import Telemetry


class Queue(QueueVerbs, BulkVerbs):
    """A queue in one pair of DynamoDB tables.

    >>> queue = Queue.connect("my-app-jobs")                                   # doctest: +SKIP
    >>> queue.enqueue("daily_summary", {"user_id": "u1"}).job_id               # doctest: +SKIP
    '01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d'
    """

    @classmethod
    def connect(
        cls,
        queue: str | None = None,
        dead_letters_table: str | None = None,
        *,
        client: DynamoDBClient | None = None,
        open_client: Callable[..., Any] | None = None,
        endpoint_url: str | None = None,
        region_name: str | None = None,
        telemetry: Telemetry | None = None,
        caller: Caller | None = None,
    ) -> Self:
        """Open a deployed queue, with boto3's usual ways of finding credentials and region.

        queue: its name, which needs the right to read one parameter (`JobQueue.grant_discover`). Without one, the
            queue that this function was granted something of, or handles jobs of.
        dead_letters_table: with it, `queue` is the name of the table of jobs: tables that you know are opened as is.
        open_client: how clients of AWS are opened, e.g. `boto3.Session(profile_name="ops").client`.
        caller: how `run_now` reaches handlers; by default through Lambda, at the same endpoint and in the same region.
        """
        from leasehold.aws.caller import LambdaCaller, connect_patiently
        from leasehold.aws.clients import CallerIdentity
        from leasehold.aws.discovery import tables_of
        from leasehold.kernel.dynamodb.connection import connect
        from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
        from leasehold.pool import Threads

        where: dict[str, Any] = {"open_client": open_client, "endpoint_url": endpoint_url, "region_name": region_name}
        if queue is not None and dead_letters_table is not None:
            names = TableNames(jobs=queue, dead_letters=dead_letters_table)
        else:
            names = tables_of(queue, **where)
        opened = client or connect(**where)
        where["region_name"] = region_name or opened.meta.region_name
        services = Services(store=Store(DynamoTable(opened, names)), identity=CallerIdentity(**where), pool=Threads())
        services.caller = caller or LambdaCaller(partial(connect_patiently, **where))
        if telemetry is not None:
            services.telemetry = telemetry
        return cls(services)

    def enqueue(
        self,
        job: str | TypedPayload | None = None,
        payload: Json | PayloadModel = None,
        *,
        on_duplicate: OnDuplicate | str = OnDuplicate.RETURN_EXISTING,
        **options: Unpack[EnqueueOptions],
    ) -> Enqueued:
        """Put a job into the queue. Once this returns, the job will end, whatever crashes on the way.

        Its options are those of `NewJob`, and what becomes of a job whose dedup key is held (`on_duplicate`).

        template: take job type, payload and options from it. What is passed here wins; of the payload, key by key at
            the top level only. The job keeps a copy: it does not change with the template.
        retry: a policy of its own, instead of its type's.
        created_by: the person that it is made for. It leaves an audit record, unless its type switches that off.
        debounce: run once nobody has called with this dedup_key for so long, with the payload of the last call; after
            `max_wait` from the first call all the same. A call after the job has started begins a new burst.
        webhook: an https address that is told of each run's end, instead of its type's; see docs/webhooks.md.

        >>> queue.enqueue(                                                     # doctest: +SKIP
        ...     "daily_summary",
        ...     {"user_id": "u1"},
        ...     run_at=datetime(2026, 11, 15, 9, 30, tzinfo=ZoneInfo("Europe/Berlin")),
        ...     dedup_key="u1",
        ...     dedup_window=Day("Europe/Berlin"),
        ... )
        Enqueued(job_id='01a1de8a-…', created=True, replaced=None)
        """
        return enqueue(NewJob(job=job, payload=payload, **options), self._services, on_duplicate=on_duplicate)
