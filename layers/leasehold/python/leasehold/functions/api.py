"""The HTTP API: API Gateway's requests, answered by the admin service in their caller's name."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from leasehold.api.application import Application
from leasehold.api.callers import caller_of
from leasehold.aws import names as variables
from leasehold.aws.api_access import Access
from leasehold.aws.clients import warm
from leasehold.aws.container import open_container
from leasehold.aws.dispatcher import LambdaStarter
from leasehold.aws.settings import required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import Container, LambdaContext


def lambda_handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    application = _application()
    try:
        return application.answer(event, context)
    finally:
        _container().telemetry.flush()


@cache
def _container() -> Container:
    return open_container("api")


@cache
def _application() -> Application:
    return Application(
        services=_container().services,
        authenticate=partial(caller_of, access=Access.from_text(required(variables.API_ACCESS, os.environ))),
        starter=LambdaStarter(required(variables.DIRECT_RUNNER, os.environ)),
    )


warm(_container)
