"""The direct runner: does one direct run that the API has accepted, and keeps how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.aws.container import container_of, worker_id
from leasehold.aws.dispatcher import RUN_ID
from leasehold.direct_runs.run import perform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import LambdaContext

_container = container_of("direct_runner")


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, str]:
    run_id = str(event[RUN_ID])
    with _container().serving() as services:
        done = perform(run_id, services, worker_id=worker_id(context))
    return {"run_id": run_id, "state": str(done.state) if done else "not ours"}
