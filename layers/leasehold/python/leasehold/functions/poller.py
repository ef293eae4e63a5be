"""The poller: find what is due, claim it, and hand it to its handlers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.container import container_of, remaining, worker_id
from leasehold.aws.dispatcher import LambdaDispatcher
from leasehold.aws.polling import Polling, Wake
from leasehold.pollers.waiting import REREAD_BESIDE_WAKES, WaitingSettings
from leasehold.telemetry.spans import flush as flush_spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import LambdaContext
    from leasehold.limits.model import ConcurrencyPolicy

_container = container_of("poller")
# Its connection is kept from one invocation to the next.
_dispatcher = cache(LambdaDispatcher)


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, object]:
    wake = Wake.parse(event)
    container, dispatcher = _container(), _dispatcher()
    polling = Polling(
        container.services,
        dispatcher,
        worker_id=f"poller-{worker_id(context)}",
        time_left=remaining(context),
        start_another=lambda payload: dispatcher.invoke(context.function_name, payload),
        waiting=WaitingSettings(poll_interval=container.settings.poll_interval, reread_every=REREAD_BESIDE_WAKES),
        poll_limit=container.settings.poll_limit,
        policy=_policy(),
    )
    try:
        with container.serving():
            report = polling.answer(wake)
    finally:
        flush_spans()
    # Nothing of a stream's batch is given back: wakes are hints, and the tick finds what one poll did not.
    return {"batchItemFailures": [], **report.as_fields()}


@cache
def _policy() -> ConcurrencyPolicy | None:
    name = _container().settings.concurrency_policy
    if name is None:
        return None
    from leasehold.limits.policy import load_policy

    return load_policy(name)
