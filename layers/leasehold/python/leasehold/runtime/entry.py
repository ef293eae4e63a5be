"""The entry of every job function. It is in the layer and imports the handler itself: one that cannot start is seen."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.aws.clients import warm
from leasehold.aws.handovers import handovers_in
from leasehold.direct_runs.model import DirectRun
from leasehold.kernel.end import Ending
from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.job import Job, Run
from leasehold.kernel.jobs import Write
from leasehold.kernel.ports import Handover
from leasehold.kernel.registry import Switches
from leasehold.kernel.table import OneOf, Page, Update
from leasehold.runtime.handler import BaseJobHandler, handler_of
from leasehold.runtime.loading import HandlerStartError
from leasehold.runtime.timing import RESERVE, run_within
from leasehold.runtime.worker import Worker
from leasehold.telemetry.spans import flush as flush_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.aws.container import Container, LambdaContext
    from leasehold.runtime.handler import Handler

# Lambda ends a start that takes 10 seconds without a word, and begins again.
_LONGEST_START = timedelta(seconds=8)
_loaded: list[type[BaseJobHandler]] = []


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run hand-overs and direct runs with the handler of the function's folder.

    It returns normally however the job went: the job's own item says so, and Leasehold retries by itself. A handler
    that cannot be imported is a failed run with its error, and is imported anew by the next one.
    """
    from leasehold.aws.container import remaining

    limit = max(remaining(context) - RESERVE, remaining(context) / 2)
    return _answer(event, context, lambda: _load(limit))


def entry(handler: Handler) -> Callable[[Mapping[str, Any], LambdaContext], dict[str, Any]]:
    """A Lambda function of its own for a handler that lies in no job folder.

    >>> lambda_handler = entry(SendLetter)          # doctest: +SKIP
    """
    warm(_container)
    return lambda event, context: _answer(event, context, lambda: handler_of(handler))


def _answer(
    event: Mapping[str, Any], context: LambdaContext, load: Callable[[], type[BaseJobHandler]]
) -> dict[str, Any]:
    try:
        handler = load()
        if event.get("source") == variables.DESCRIBE_SOURCE:
            from leasehold.runtime.loading import describe

            return {**describe(handler), **_logs()}
    except (Exception, SystemExit) as error:
        if event.get("source") == variables.DESCRIBE_SOURCE:
            return {"error": _described(error)}
        handler = _failing(error)
    return _run(event, context, handler)


def _logs() -> dict[str, str]:
    """Where CloudWatch keeps what this function logs, for links; nothing where it runs on another AWS than Amazon's."""
    region, group = os.environ.get("AWS_REGION"), os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME")
    return {"logs": f"{region}:{group}"} if region and group and "AWS_ENDPOINT_URL" not in os.environ else {}


def _run(event: Mapping[str, Any], context: LambdaContext, handler: type[BaseJobHandler]) -> dict[str, Any]:
    from leasehold.aws.container import remaining, worker_id

    asked = DirectRun.from_event(event) if DirectRun.is_in(event) else handovers_in(event)
    container = _container()
    job_type = asked.job_type if isinstance(asked, DirectRun) else asked[0].job_type
    # The registry says which function a type is handed to; a class that names its type is held to it.
    handlers = {handler.job_type or job_type: handler}
    worker = Worker(container.services, handlers, worker_id=worker_id(context))
    try:
        if isinstance(asked, DirectRun):
            return worker.run_directly(asked, remaining=remaining(context)).to_document()
        if len(asked) > 1:
            return {"executions": {**worker.run_batch(asked, remaining=remaining(context))}}
        execution = worker.run(asked[0], remaining=remaining(context))
    finally:
        container.telemetry.flush()
        flush_spans()
    return {"job_id": asked[0].job_id, "execution": str(execution)}


def _load(limit: timedelta) -> type[BaseJobHandler]:
    if not _loaded:
        from leasehold.runtime.loading import load_handler

        name = os.environ.get(variables.HANDLER)
        if not name:
            raise HandlerStartError(
                f"the environment variable {variables.HANDLER} is not set. The stacks set it: deploy."
            )
        folder = Path(os.environ.get("LAMBDA_TASK_ROOT", "."))
        _loaded.append(run_within(limit, lambda: load_handler(name, folder)))
    return _loaded[0]


def _failing(reason: BaseException) -> type[BaseJobHandler]:
    """Stands in for a handler that cannot start: each of its runs fails with the reason, and may be tried again."""
    reason = _without_importing(reason)
    if isinstance(reason, LeaseholdError) and not isinstance(reason, HandlerStartError):
        reason = HandlerStartError(str(reason))

    class CannotStart(BaseJobHandler):
        @classmethod
        def parse(cls, _payload: object) -> Any:
            raise reason

    return CannotStart


def _described(error: BaseException) -> str:
    from leasehold.runtime.signals import failure_of

    return failure_of(_without_importing(error)).error


def _without_importing(error: BaseException) -> BaseException:
    """Its traceback from where the handler's own lines begin; none if it never came to them."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("leasehold.", "importlib")) and "importlib" not in frame.f_code.co_filename:
            break
        trace = trace.tb_next
    return error.with_traceback(trace)


@cache
def _container() -> Container:
    from leasehold.aws.container import open_container

    # Every run makes these. They are compiled now (lean.py), while the function still has a whole core.
    for made in (Handover, Page, Switches, Write, OneOf, Update, Job, Run, Ending):
        _ = made.__init__
    return open_container("handler")


def _start() -> Container:
    """While the function starts, with a whole core: what all its runs need. What fails here is met again by a run."""
    if variables.HANDLER in os.environ:
        with suppress(Exception, SystemExit):
            _load(_LONGEST_START)
    return _container()


warm(_start)
