"""Handlers for unit tests: each does what its test passes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from leasehold.runtime.handler import BaseJobHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.runtime.handler import JobContext


class Anything(BaseModel):
    """Takes every payload, so that a test is about what its handler does."""

    model_config = ConfigDict(extra="allow")


def handler_that(work: Callable[[JobContext], object]) -> type[BaseJobHandler]:
    """A handler type whose `handle` is `work`."""

    class Handler(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Anything

        def handle(self, payload: Anything, context: JobContext) -> object:
            return work(context)

    return Handler


def raising(error: BaseException) -> Callable[[JobContext], Any]:
    def work(_context: JobContext) -> object:
        raise error

    return work
