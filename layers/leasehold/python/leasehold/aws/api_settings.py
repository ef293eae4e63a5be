"""What the API's function is told by its environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leasehold.aws.direct_starter import LambdaStarter
from leasehold.aws.dispatcher import connect_lambda
from leasehold.domain.errors import InvalidOptionError
from leasehold.settings import variables
from leasehold.settings.api_access import Access

if TYPE_CHECKING:
    from collections.abc import Mapping


def access_of(environment: Mapping[str, str] = os.environ) -> Access:
    return Access.from_text(_required(variables.API_ACCESS, environment))


def starter_of(environment: Mapping[str, str] = os.environ) -> LambdaStarter:
    return LambdaStarter(connect_lambda(), _required(variables.DIRECT_RUNNER, environment))


def _required(name: str, given: Mapping[str, str]) -> str:
    value = given.get(name)
    if not value:
        raise InvalidOptionError(value, f"the environment variable {name} is not set", "The stacks set it: deploy.")
    return value
