"""The direct runner: does one direct run that the API has accepted, and keeps how it went."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.aws.container import open_container, worker_id
from leasehold.aws.dispatcher import RUN_ID
from leasehold.direct_runs.run import perform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import Container, LambdaContext


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, str]:
    run_id, container = str(event[RUN_ID]), _container()
    try:
        done = perform(run_id, container.services, worker_id=worker_id(context))
    finally:
        container.telemetry.flush()
    return {"run_id": run_id, "state": str(done.state) if done else "not ours"}


@cache
def _container() -> Container:
    return open_container("direct_runner")


warm(_container)
