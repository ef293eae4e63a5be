"""Tells an EventBridge bus what happens to jobs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.lifecycle_events import events_of, publish
from leasehold.aws.settings import bus_from_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_events import EventBridgeClient


def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    told = events_of(event)
    untaken = publish(told, _client(), bus_from_environment())
    return {"batchItemFailures": [{"itemIdentifier": number} for number in untaken]}


@cache
def _client() -> EventBridgeClient:
    import boto3

    return boto3.client("events")
