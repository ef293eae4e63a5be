"""The SDK: what a program imports to put work into the queue and to look after it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from leasehold.direct_runs.run import run_now
from leasehold.features import Store
from leasehold.kernel.bulk import enqueue_changes
from leasehold.kernel.dedup import OnDuplicate
from leasehold.kernel.enqueue import JobRequest, NewJob, enqueue, request_of
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.kernel.job import SYSTEM
from leasehold.kernel.payload import encode_value, resolve
from leasehold.kernel.services import Services
from leasehold.lean import dataclass
from leasehold.operate import jobs as operate
from leasehold.operate.order import move_in_queue, place_of
from leasehold.operate.redrive import retry
from leasehold.telemetry.spans import current_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.groups.sdk import Groups
    from leasehold.kernel.bulk import BulkResult
    from leasehold.kernel.dedup import DedupWindow, Enqueued
    from leasehold.kernel.dynamodb.table import TableNames
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json, PayloadModel, TypedPayload
    from leasehold.kernel.ports import Caller
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.operator import Operator
    from leasehold.schedules.sdk import Schedules
    from leasehold.telemetry import Telemetry
    from leasehold.templates.sdk import Templates
    from leasehold.webhooks.deliveries import Webhooks


class JobOptions(TypedDict, total=False):
    """The options of a new job, for functions that pass them on; see `Queue.enqueue`."""

    run_at: datetime | None
    run_in: timedelta | None
    start_by: datetime | None
    dedup_key: str | None
    dedup_window: DedupWindow | None
    priority: Priority | PriorityName | int | None
    max_attempts: int | None
    created_by: str
    retry_of: str | None
    concurrency_key: str | None
    trace: str | None
    template: str | None
    retry: RetryPolicy | None
    webhook: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactEnqueue:
    """A job as items for the caller's own TransactWriteItems. The job exists once that transaction commits."""

    job_id: JobId
    items: list[dict[str, Any]]


class Queue:
    """A queue in one pair of DynamoDB tables.

    >>> queue = Queue.connect("my-app-jobs")                                   # doctest: +SKIP
    >>> queue.enqueue("daily_summary", {"user_id": "u1"}).job_id               # doctest: +SKIP
    '01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d'
    """

    def __init__(self, services: Services) -> None:
        self._services = services

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
        from leasehold.kernel.dynamodb.connection import connect
        from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
        from leasehold.kernel.pool import Threads

        if queue is not None and dead_letters_table is not None:
            names = TableNames(jobs=queue, dead_letters=dead_letters_table)
        else:
            names = _tables_of(queue, open_client=open_client, endpoint_url=endpoint_url, region_name=region_name)
        opened = client or connect(open_client=open_client, endpoint_url=endpoint_url, region_name=region_name)
        where: dict[str, Any] = {
            "open_client": open_client,
            "endpoint_url": endpoint_url,
            "region_name": region_name or opened.meta.region_name,
        }
        services = Services(store=Store(DynamoTable(opened, names)), identity=CallerIdentity(**where), pool=Threads())
        services.caller = caller or LambdaCaller(partial(connect_patiently, **where))
        if telemetry is not None:
            services.telemetry = telemetry
        return cls(services)

    @property
    def services(self) -> Services:
        """What the queue is made of, for those who build on it."""
        return self._services

    @property
    def schedules(self) -> Schedules:
        """Recurring jobs.

        >>> queue.schedules.create("sync", "user_sync", every=timedelta(minutes=30))   # doctest: +SKIP
        """
        from leasehold.schedules.sdk import Schedules

        return Schedules(self._services)

    @property
    def templates(self) -> Templates:
        """Named presets for jobs.

        >>> queue.templates.create("nightly", "daily_summary", {"style": "short"})     # doctest: +SKIP
        """
        from leasehold.templates.sdk import Templates

        return Templates(self._services)

    @property
    def groups(self) -> Groups:
        """Jobs that belong together, with one end.

        >>> queue.groups.create([NewJob(job="extract"), NewJob(job="load")])           # doctest: +SKIP
        """
        from leasehold.groups.sdk import Groups

        return Groups(self._services)

    @property
    def webhooks(self) -> Webhooks:
        """What receivers were told of runs.

        >>> queue.webhooks.deliveries(job_id)                                          # doctest: +SKIP
        """
        from leasehold.webhooks.deliveries import Webhooks

        return Webhooks(self._services)

    @property
    def operator(self) -> Operator:
        """What operators do: halt and pause, cancel many, redrive dead letters.

        >>> queue.operator.redrive(job_id, reason="fixed")                             # doctest: +SKIP
        """
        from leasehold.operate.operator import Operator

        return Operator(self._services)

    def enqueue(
        self,
        job: str | TypedPayload | None = None,
        payload: Json | PayloadModel = None,
        *,
        run_at: datetime | None = None,
        run_in: timedelta | None = None,
        start_by: datetime | None = None,
        dedup_key: str | None = None,
        dedup_window: DedupWindow | None = None,
        debounce: timedelta | None = None,
        max_wait: timedelta | None = None,
        on_duplicate: OnDuplicate | str = OnDuplicate.RETURN_EXISTING,
        priority: Priority | PriorityName | int | None = None,
        max_attempts: int | None = None,
        created_by: str = SYSTEM,
        retry_of: str | None = None,
        concurrency_key: str | None = None,
        trace: str | None = None,
        template: str | None = None,
        retry: RetryPolicy | None = None,
        webhook: str | None = None,
    ) -> Enqueued:
        """Put a job into the queue. Once this returns, the job will end, whatever crashes on the way.

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
        wanted = NewJob(
            job=job,
            payload=payload,
            run_at=run_at,
            run_in=run_in,
            start_by=start_by,
            dedup_key=dedup_key,
            dedup_window=dedup_window,
            debounce=debounce,
            max_wait=max_wait,
            priority=priority,
            max_attempts=max_attempts,
            created_by=created_by,
            retry_of=retry_of,
            concurrency_key=concurrency_key,
            trace=trace,
            template=template,
            retry=retry,
            webhook=webhook,
        )
        return enqueue(request_of(wanted), self._services, on_duplicate=_parse_on_duplicate(on_duplicate))

    def enqueue_many(
        self,
        jobs: Iterable[NewJob],
        *,
        on_duplicate: OnDuplicate | str = OnDuplicate.RETURN_EXISTING,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[BulkResult]:
        """Enqueue many jobs, 25 to a call and calls side by side; the answer has one result for each, in order.

        A job that cannot be accepted is `Rejected` with its error and does not stop the others. `progress` is called
        with how many are done and how many there are.

        >>> queue.enqueue_many(NewJob(job="daily_summary", payload={"user_id": n}) for n in users)  # doctest: +SKIP
        """
        from leasehold.kernel.bulk import enqueue_many

        return enqueue_many(
            [_request_or_error(job) for job in jobs],
            self._services,
            on_duplicate=_parse_on_duplicate(on_duplicate),
            progress=progress,
        )

    def transact_items(
        self,
        job: str | TypedPayload | None = None,
        payload: Json | PayloadModel = None,
        **options: Unpack[JobOptions],
    ) -> TransactEnqueue:
        """A job as items to put into your own DynamoDB transaction: both happen, or neither.

        Takes the options of `enqueue` except `on_duplicate`: if the dedup key is taken, your transaction is cancelled.
        Ask for the items right before you use them: a key that is free now may be taken by then.

        >>> job = queue.transact_items("send_receipt", {"order": "o1"})                    # doctest: +SKIP
        >>> client.transact_write_items(TransactItems=[put_order, *job.items])             # doctest: +SKIP
        """
        from leasehold.kernel.dynamodb.table import DynamoTable

        table = self._services.store.table
        if not isinstance(table, DynamoTable):
            raise InvalidOptionError(table.name, "transact_items needs a DynamoDB table", "Use a queue on one.")
        job_id, changes = enqueue_changes(request_of(NewJob(job=job, payload=payload, **options)), self._services)
        return TransactEnqueue(job_id=job_id, items=table.transact_items(changes))

    def get(self, job_id: str) -> Job:
        """The job as it is now; JobNotFoundError if there is none."""
        return operate.look_at(job_id, self._services)

    def cancel(self, job_id: str, *, reason: str = "") -> Cancelled:
        """Cancel a job that has not started; one that runs is asked to stop, and is not tried again."""
        return operate.cancel(job_id, reason, self._services)

    def retry(
        self, job_id: str, *, priority: Priority | PriorityName | int | None = None, reason: str = ""
    ) -> Enqueued:
        """Run a waiting job now, or an ended one again as a new job with `retry_of`."""
        return retry(job_id, self._services, priority=priority, reason=reason)

    def reschedule(
        self,
        job_id: str,
        *,
        run_at: datetime | None = None,
        run_in: timedelta | None = None,
        reason: str = "",
    ) -> Job:
        """Move a waiting job to another time; without one, to now: that is how to run it at once.

        >>> queue.reschedule(job_id)                                           # doctest: +SKIP
        """
        return operate.reschedule(job_id, self._services, run_at=run_at, run_in=run_in, reason=reason)

    def reprioritise(self, job_id: str, priority: Priority | PriorityName | int, *, reason: str = "") -> Job:
        """Have a waiting job run among those of another priority, in the order of its time.

        >>> queue.reprioritise(job_id, Priority.CRITICAL)                      # doctest: +SKIP
        """
        return operate.edit(job_id, self._services, priority=priority, reason=reason)

    def move(
        self,
        job_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        position: int | None = None,
        reason: str = "",
    ) -> Job:
        """Let a waiting job run directly before or after another waiting one, with that one's priority and time.

        position: or as the n-th of those that are due and wait as it does, 1 for the next; behind the last of them if
            there are fewer.

        >>> queue.move(job_id, before=other_id)                                # doctest: +SKIP
        >>> queue.move(job_id, position=1)                                     # doctest: +SKIP
        """
        return move_in_queue(job_id, self._services, before=before, after=after, position=position, reason=reason)

    def position(self, job_id: str) -> int | None:
        """The how-manieth a job is of those that are due and wait as it does; None if it is not due, or beyond 1,000.

        >>> queue.position(job_id)                                             # doctest: +SKIP
        3
        """
        return place_of(operate.find(job_id, self._services), self._services)

    def edit(
        self,
        job_id: str,
        *,
        payload: Json | PayloadModel = None,
        priority: Priority | PriorityName | int | None = None,
        max_attempts: int | None = None,
        reason: str = "",
    ) -> Job:
        """Change what a waiting job will do; a job that was claimed is left alone (WrongStateError)."""
        text = None if payload is None else encode_value(payload)
        return operate.edit(
            job_id, self._services, payload_text=text, priority=priority, max_attempts=max_attempts, reason=reason
        )

    def wait(self, job_id: str, *, timeout: timedelta = timedelta(seconds=30)) -> Job:
        """Wait until the job has ended and return it; WaitTimeoutError if it has not by then."""
        return operate.wait(job_id, self._services, timeout=timeout)

    def run_now(
        self,
        job: str | TypedPayload,
        payload: Json | PayloadModel = None,
        *,
        timeout: timedelta = timedelta(minutes=1),
    ) -> Json:
        """Run a type's handler now, wait for it, and return its result. It makes no job: nothing is kept or repeated.

        Jobs of the type that run are waited for, no longer than `timeout` (DirectRunTimeoutError); jobs that are due
        meanwhile start after it, in order. If the handler fails, DirectRunError says how.

        >>> queue.run_now("daily_summary", {"user_id": "u1"}, timeout=timedelta(minutes=2))     # doctest: +SKIP
        {'sent_to': 'u1'}
        """
        job_type, payload_text = resolve(job, payload)
        return run_now(job_type, payload_text, self._services, timeout=timeout, trace=current_trace())


def _request_or_error(wanted: NewJob) -> JobRequest | LeaseholdError:
    try:
        return request_of(wanted)
    except LeaseholdError as error:
        return error


def _parse_on_duplicate(value: OnDuplicate | str) -> OnDuplicate:
    try:
        return OnDuplicate(value)
    except ValueError:
        names = ", ".join(OnDuplicate)
        raise InvalidOptionError(value, "on_duplicate is not known", f"Use one of {names}.") from None


def _tables_of(name: str | None, **where: Any) -> TableNames:
    from leasehold.aws import discovery
    from leasehold.kernel.dynamodb.table import TableNames

    found = discovery.from_environment() if name is None else discovery.named(name, **where)
    return TableNames(jobs=found.jobs_table, dead_letters=found.dead_letters_table)
