"""Tells an EventBridge bus what happens to jobs."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.aws.lifecycle_events import events_of, publish
from leasehold.aws.settings import required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_events import EventBridgeClient


def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    told = events_of(event)
    untaken = publish(told, _client(), required(variables.EVENT_BUS, os.environ))
    return {"batchItemFailures": [{"itemIdentifier": number} for number in untaken]}


@cache
def _client() -> EventBridgeClient:
    import boto3

    return boto3.client("events")
