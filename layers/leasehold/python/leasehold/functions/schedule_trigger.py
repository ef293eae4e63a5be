"""Woken by EventBridge at a schedule's slot: make the jobs of the slots that have come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.aws.container import container_of
from leasehold.schedules.trigger import trigger

if TYPE_CHECKING:
    from collections.abc import Mapping


_container = container_of("schedule_trigger")


def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, object]:
    name = str(event["schedule"])
    with _container().serving() as services:
        made = trigger(name, services, reads_jobs=False)
    return {"schedule": name, "made": made}
