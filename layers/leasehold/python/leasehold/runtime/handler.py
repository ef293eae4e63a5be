"""What a job type implements: a class with `handle`, or a plain function; both with a payload model."""

from __future__ import annotations

import inspect
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Unpack

from leasehold.kernel.errors import InvalidOptionError, NonRetryableError
from leasehold.kernel.keys import EPOCH
from leasehold.kernel.payload import encode_result
from leasehold.runtime import lease

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from pydantic import BaseModel

    from leasehold.bulk.sdk import JobOptions
    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.execute import Attempt
    from leasehold.kernel.payload import Json
    from leasehold.kernel.table import ForeignItem
    from leasehold.runtime.notes import JobLogger
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload


if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

# Not in brackets behind the class: there a default needs Python 3.13.
Payload = TypeVar("Payload", bound="BaseModel", default=Any)


class InvalidJobPayloadError(NonRetryableError, code="invalid_job_payload"):
    """The stored payload does not fit the handler's model. Trying again would not change that."""


class JobContext:
    """The running attempt, as its handler sees it.

    attempt: 1 for the first attempt.
    idempotency_key: the same for every attempt at this job: give it to whatever must not be done twice.
    started_at: when this attempt started, by the queue's own clock: a test's fake clock moves it.
    deadline: when the platform ends this attempt.
    """

    # The class has them too, or a mock that is made after it had not.
    job_id: str = ""
    job_type: str = ""
    attempt: int = 0
    idempotency_key: str = ""
    trace: str | None = None
    started_at: datetime = EPOCH
    deadline: datetime = EPOCH

    def __init__(self, attempt: Attempt) -> None:
        job = attempt.job
        assert job.started_at is not None
        self._attempt = attempt
        self._services = attempt.services
        self.job_id = self.idempotency_key = job.job_id
        self.job_type = job.job_type
        self.attempt = job.attempts
        self.trace = job.trace
        self.started_at = job.started_at
        self.deadline = attempt.deadline

    @cached_property
    def logger(self) -> JobLogger:
        """Adds this job to every line."""
        from leasehold.runtime.notes import logger_of

        return logger_of(self.job_type, job_id=self.job_id, attempt=self.attempt, trace=self.trace)

    @property
    def cancel_requested(self) -> bool:
        """Whether an operator asked this job to stop. Long handlers look, and raise Cancel."""
        return lease.is_cancel_requested(self._attempt)

    def extend(self) -> datetime:
        """Prolong the lease; LeaseLostError if another owner has the job by now: stop at once."""
        return lease.extend(self._attempt)

    def enqueue(
        self, job: str | TypedPayload, payload: Json | PayloadModel = None, **options: Unpack[JobOptions]
    ) -> Enqueued:
        """Put another job into this queue, with the options of `Queue.enqueue`. `enqueues` in job.toml gives the right.

        A handler may run again: with `idempotency_key` as `dedup_key` and a `dedup_window` such as `Within(...)`, the
        other job is made once. That needs `deduplicates` too.
        """
        from leasehold.kernel.enqueue import NewJob, enqueue

        return enqueue(NewJob(job=job, payload=payload, **options), self._services)

    def add_artifact(self, location: str) -> None:
        """Note where this run put something, e.g. an S3 address."""
        from leasehold.runtime.notes import check_artifact

        check_artifact(location, len(self._attempt.artifacts))
        self._attempt.artifacts.append(location)

    def transact_complete(self, items: Sequence[ForeignItem], result: Json = None) -> None:
        """Complete the job together with your own DynamoDB writes: both happen, or neither.

        `items` are those of TransactWriteItems. If one of their conditions fails, TransactionRefusedError says which,
        and the job goes on.
        """
        self._attempt.complete(None if result is None else encode_result(result), foreign=items)


class BaseJobHandler(Generic[Payload]):
    """Handles one job type.

    >>> from pydantic import BaseModel
    >>> class Name(BaseModel):
    ...     name: str
    >>> class Greet(BaseJobHandler[Name]):
    ...     def handle(self, payload: Name) -> str:
    ...         return f"hello {payload.name}"

    `handle` may take a second argument, the `JobContext`, and it may be `async def`. It is started again after a
    crash, so it must be idempotent: `context.idempotency_key` is the same for every attempt. What it returns is stored
    as the job's result. Without a model in brackets, `payload_model()` returns it.

    Where `job.toml` has a `[batch]`, `handle_batch(payloads, context)` may take the place of `handle`: it returns a
    list with, for each payload in order, its result or the exception that it failed with.
    """

    # Set where the folder's name is not the type's name, e.g. for handlers registered in one process.
    job_type: ClassVar[str | None] = None

    @classmethod
    def payload_model(cls) -> type[Payload]:
        from leasehold.runtime.models import model_in_brackets

        return model_in_brackets(cls)

    if TYPE_CHECKING:
        # With a context or without. A method is neither of both, but fits one of them: that is what is checked.
        @property
        def handle(self) -> Callable[[Payload], object] | Callable[[Payload, JobContext], object]: ...
    else:

        def handle(self, payload):
            raise NotImplementedError(f"{type(self).__name__} needs handle(payload)")

    @classmethod
    def parse(cls, payload: Json) -> Payload:
        from pydantic import ValidationError

        try:
            return cls.payload_model().model_validate(payload)
        except ValidationError as error:
            from leasehold.runtime.models import misfit

            raise InvalidJobPayloadError(misfit(cls.payload_model(), error)) from None


# pydantic is imported where it is needed: a function whose own packages break it can still say so on its job.
if TYPE_CHECKING:
    type JobFunction = Callable[[Any], object] | Callable[[Any, JobContext], object]
    type Handler = type[BaseJobHandler[Any]] | JobFunction

# A signature is slow to read, and the same at every job.
_TAKES_CONTEXT: dict[type[BaseJobHandler], bool] = {}
MADE_HANDLER = "leasehold_handler"


def handler_of(handler: Handler) -> type[BaseJobHandler]:
    """The class that handles: itself, or the one that `@job` made."""
    found = handler if isinstance(handler, type) else getattr(handler, MADE_HANDLER, None)
    if not isinstance(found, type) or not issubclass(found, BaseJobHandler):
        raise InvalidOptionError(
            getattr(handler, "__name__", handler),
            "this is neither a BaseJobHandler nor a function with @job",
            "Derive the class from BaseJobHandler, or write @job above the function.",
        )
    return found


def call(handler: BaseJobHandler, payload: BaseModel, context: JobContext, limit: timedelta | None = None) -> object:
    """Call `handle` with the context if it asks for one; one that is `async def` runs in a loop of its own."""
    kind = type(handler)
    if hasattr(kind, "handle_batch"):
        from leasehold.runtime.batch import handle_one

        return handle_one(handler, payload, context, limit)
    if kind not in _TAKES_CONTEXT:
        _TAKES_CONTEXT[kind] = len(inspect.signature(handler.handle).parameters) > 1
    handle: Callable[..., object] = handler.handle
    result = handle(payload, context) if _TAKES_CONTEXT[kind] else handle(payload)
    if not inspect.iscoroutine(result):
        return result
    from leasehold.runtime.timing import awaited

    return awaited(result, limit)
