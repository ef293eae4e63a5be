"""Woken by EventBridge at a schedule's slot: make the jobs of the slots that have come."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from leasehold.aws.clients import warm
from leasehold.aws.container import open_container
from leasehold.schedules.trigger import trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.aws.container import Container


def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, object]:
    name = str(event["schedule"])
    container = _container()
    try:
        made = trigger(name, container.services, reads_jobs=False)
    finally:
        container.telemetry.flush()
    return {"schedule": name, "made": made}


@cache
def _container() -> Container:
    return open_container("schedule_trigger")


warm(_container)
