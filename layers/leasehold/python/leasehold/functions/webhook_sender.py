"""The webhook sender: tells receivers how runs ended, one delivery an invocation."""

from __future__ import annotations

from functools import cache

from leasehold.aws.webhook_settings import keys_of, outbound_of
from leasehold.runtime.entry import entry
from leasehold.runtime.webhook_sender import Equipment, webhook_sender


@cache
def equipment() -> Equipment:
    return Equipment(keys=keys_of(), outbound=outbound_of())


lambda_handler = entry(webhook_sender(equipment))
