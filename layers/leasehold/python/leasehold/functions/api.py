"""The HTTP API: API Gateway's requests, answered by the admin service in their caller's name."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from leasehold.api.application import Application
from leasehold.api.callers import caller_of
from leasehold.aws import names as variables
from leasehold.aws.api_access import Access
from leasehold.aws.container import container_of
from leasehold.aws.dispatcher import LambdaDispatcher, start_direct_run
from leasehold.aws.settings import required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import LambdaContext

_container = container_of("api")


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    with _container().serving():
        return _application().answer(event, context)


@cache
def _application() -> Application:
    return Application(
        services=_container().services,
        authenticate=partial(caller_of, access=Access.from_text(required(variables.API_ACCESS, os.environ))),
        start_run=partial(start_direct_run, LambdaDispatcher(), required(variables.DIRECT_RUNNER, os.environ)),
    )
