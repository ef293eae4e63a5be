"""The webhook sender: tells receivers how runs ended, one delivery an invocation."""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import TYPE_CHECKING

from leasehold.aws import names as variables
from leasehold.aws.stored_text import StoredText
from leasehold.runtime.entry import entry
from leasehold.runtime.webhook_sender import Equipment, webhook_sender
from leasehold.webhooks.outbound import Outbound, refusal_of
from leasehold.webhooks.standard import SigningKeys

if TYPE_CHECKING:
    from collections.abc import Mapping

# The only environment that may call its own machine, and only if a test has put its authority there.
_LOCAL = "local"
_ALL_PORTS = range(1, 65_536)


@cache
def equipment() -> Equipment:
    return Equipment(keys=keys_of(), outbound=outbound_of())


def keys_of(environment: Mapping[str, str] = os.environ) -> StoredText[SigningKeys]:
    return StoredText(
        "the webhook keys",
        SigningKeys.parse,
        secret=environment.get(variables.WEBHOOK_KEYS_SECRET) or None,
        parameter=environment.get(variables.WEBHOOK_KEYS_PARAMETER) or None,
    )


def outbound_of(environment: Mapping[str, str] = os.environ) -> Outbound:
    given = environment.get(variables.WEBHOOK_PORTS)
    ports = tuple(int(each) for each in given.split(",")) if given else (443,)
    authority = environment.get(variables.WEBHOOK_LOOPBACK_AUTHORITY)
    if environment.get(variables.ENVIRONMENT_NAME) != _LOCAL or not authority:
        return Outbound(ports=ports)
    # The stacks never set this. On the local AWS, a test does, to be told itself.
    return Outbound(
        ports=_ALL_PORTS,
        refusal=lambda ip: None if ip == "127.0.0.1" else refusal_of(ip),
        tls=ssl.create_default_context(cafile=authority),
    )


lambda_handler = entry(webhook_sender(equipment))
