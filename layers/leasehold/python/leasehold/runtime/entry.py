"""From a handler class to a Lambda function: `lambda_handler = entry(DailySummaryHandler)`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.domain.direct_run import DirectRun
from leasehold.domain.handover import Handover
from leasehold.runtime.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.aws.container import Container, LambdaContext
    from leasehold.runtime.handler import BaseJobHandler


def entry(handler: type[BaseJobHandler]) -> Callable[[Mapping[str, Any], LambdaContext], dict[str, str | None]]:
    """A Lambda function that runs hand-overs and direct runs with this handler.

    It connects while the function starts, which in Lambda is at import and elsewhere at its first invocation, and
    returns normally however the job went: the job's own item says so, and Leasehold retries by itself. A direct run's
    answer says how it went.
    """

    def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, str | None]:
        from leasehold.aws.container import remaining, worker_id

        asked = DirectRun.from_event(event) if DirectRun.is_in(event) else Handover.from_event(event)
        container = _container()
        # The registry says which function a type is handed to; a class that names its type is held to it.
        handlers = {handler.job_type or asked.job_type: handler}
        worker = Worker(container.parts, handlers, worker_id=worker_id(context))
        try:
            if isinstance(asked, DirectRun):
                return worker.run_directly(asked, remaining=remaining(context)).to_document()
            execution = worker.run(asked, remaining=remaining(context))
        finally:
            container.telemetry.flush()
        return {"job_id": asked.job_id, "execution": str(execution)}

    warm(_container)
    return lambda_handler


@cache
def _container() -> Container:
    from leasehold.aws.container import open_container

    return open_container("handler")
