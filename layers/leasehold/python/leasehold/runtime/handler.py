"""What a job type implements: a payload model and `handle`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ValidationError

from leasehold.domain.errors import InvalidJobPayloadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.domain.payload import Json
    from leasehold.runtime.context import JobContext

# A signature is slow to read, and the same at every job.
_TAKES_CONTEXT: dict[type[BaseJobHandler], bool] = {}


class BaseJobHandler:
    """Handles one job type.

    >>> class Greet(BaseJobHandler):
    ...     class Payload(BaseModel):
    ...         name: str
    ...     @classmethod
    ...     def payload_model(cls):
    ...         return cls.Payload
    ...     def handle(self, payload):
    ...         return f"hello {payload.name}"

    `handle` may take a second argument, the `JobContext`. It is started again after a crash, so it must be idempotent:
    `context.idempotency_key` is the same for every attempt. What it returns is stored as the job's result.
    """

    # Set where the folder's name is not the type's name, e.g. for handlers registered in one process.
    job_type: ClassVar[str | None] = None

    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        raise NotImplementedError(f"{cls.__name__} needs payload_model(): return the pydantic model of its payload")

    if TYPE_CHECKING:
        # Each handler takes its own model, with a context or without: no one signature says that to a type checker.
        handle: Callable[..., object]
    else:

        def handle(self, payload):
            raise NotImplementedError(f"{type(self).__name__} needs handle(payload)")

    @classmethod
    def parse(cls, payload: Json) -> BaseModel:
        try:
            return cls.payload_model().model_validate(payload)
        except ValidationError as error:
            # The values stay out of the message: it is logged and reported.
            problems = "; ".join(
                f"{'.'.join(str(part) for part in each['loc']) or 'payload'}: {each['msg']}"
                for each in error.errors(include_input=False, include_url=False)
            )
            raise InvalidJobPayloadError(f"payload does not fit {cls.payload_model().__name__}: {problems}") from None


def call(handler: BaseJobHandler, payload: BaseModel, context: JobContext) -> object:
    """Call `handle` with the context if it asks for one."""
    kind = type(handler)
    if kind not in _TAKES_CONTEXT:
        _TAKES_CONTEXT[kind] = len(inspect.signature(handler.handle).parameters) > 1
    return handler.handle(payload, context) if _TAKES_CONTEXT[kind] else handler.handle(payload)
