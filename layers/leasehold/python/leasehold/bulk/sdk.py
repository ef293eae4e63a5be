"""Other ways into the queue than one job at a time: many at once, and a job in a transaction of the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from leasehold.kernel.enqueue import NewJob, OnDuplicate, parse_on_duplicate, request_of
from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime, timedelta

    from leasehold.bulk.enqueue_many import BulkResult
    from leasehold.kernel.dedup import DedupWindow
    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload


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


class EnqueueOptions(JobOptions, total=False):
    """Those of `Queue.enqueue` and of `NewJob`: a burst of calls is no job of a handler's or of a transaction's own."""

    debounce: timedelta | None
    max_wait: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactEnqueue:
    """A job as items for the caller's own TransactWriteItems. The job exists once that transaction commits."""

    job_id: JobId
    items: list[dict[str, Any]]


class BulkVerbs:
    """A part of `Queue`."""

    _services: Services

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
        from leasehold.bulk.enqueue_many import enqueue_many

        wanted = list(jobs)
        for each in wanted:  # before there is any job
            if not isinstance(each, NewJob):
                raise InvalidOptionError(each, "this is no NewJob", "Write NewJob(job=..., payload=...) for each job.")
        return enqueue_many(wanted, self._services, on_duplicate=parse_on_duplicate(on_duplicate), progress=progress)

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
        from leasehold.bulk.enqueue_many import enqueue_changes
        from leasehold.kernel.dynamodb.table import DynamoTable

        table = self._services.store.table
        if not isinstance(table, DynamoTable):
            raise InvalidOptionError(table.name, "transact_items needs a DynamoDB table", "Use a queue on one.")
        job_id, changes = enqueue_changes(request_of(NewJob(job=job, payload=payload, **options)), self._services)
        return TransactEnqueue(job_id=job_id, items=table.transact_items(changes))
