"""Every operation of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.routes import (
    control,
    dead_letters,
    direct_runs,
    figures,
    groups,
    job_runs,
    jobs,
    openapi,
    schedules,
    templates,
)

if TYPE_CHECKING:
    from leasehold.api.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *jobs.OPERATIONS,
    *job_runs.OPERATIONS,
    *direct_runs.OPERATIONS,
    *dead_letters.OPERATIONS,
    *schedules.OPERATIONS,
    *templates.OPERATIONS,
    *groups.OPERATIONS,
    *control.OPERATIONS,
    *figures.OPERATIONS,
    *openapi.OPERATIONS,
)
