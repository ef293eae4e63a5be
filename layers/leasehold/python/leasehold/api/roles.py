"""Which role each route needs. A route that is not in here is nobody's: a test walks both tables."""

from __future__ import annotations

from leasehold.settings.api_access import Role

_VIEWER = """
GET /api/jobs
GET /api/jobs/{job_id}
GET /api/queue
GET /api/job-runs/{run_id}
GET /api/direct-runs/{run_id}
GET /api/dead-letters
GET /api/dead-letters/{job_id}
GET /api/schedules
GET /api/schedules/{name}
GET /api/templates
GET /api/templates/{name}
GET /api/groups
GET /api/groups/{group_id}
GET /api/groups/{group_id}/members
GET /api/control
GET /api/counts
GET /api/last-hour
GET /api/backlog
GET /api/audit
GET /api/openapi.json
"""

_OPERATOR = """
POST /api/jobs
POST /api/jobs/{job_id}/cancel
POST /api/jobs/{job_id}/retry
POST /api/jobs/{job_id}/run-now
POST /api/jobs/{job_id}/reschedule
POST /api/jobs/{job_id}/priority
POST /api/jobs/{job_id}/move
POST /api/job-runs/{run_id}/retry
POST /api/direct-runs
POST /api/dead-letters/redrive
POST /api/dead-letters/{job_id}/redrive
POST /api/dead-letters/{job_id}/discard
POST /api/schedules/{name}/pause
POST /api/schedules/{name}/resume
POST /api/schedules/{name}/trigger
POST /api/schedules/{name}/backfill
POST /api/groups
POST /api/groups/{group_id}/cancel
POST /api/control/types/{job_type}/pause
POST /api/control/types/{job_type}/resume
"""

# What stops or changes the system for everybody, and what cannot be undone.
_ADMIN = """
POST /api/jobs/{job_id}/purge
POST /api/schedules
PATCH /api/schedules/{name}
DELETE /api/schedules/{name}
POST /api/templates
PATCH /api/templates/{name}
DELETE /api/templates/{name}
POST /api/control/halt
POST /api/control/resume
"""

ROLES: dict[str, Role] = {
    route: role
    for role, routes in ((Role.VIEWER, _VIEWER), (Role.OPERATOR, _OPERATOR), (Role.ADMIN, _ADMIN))
    for route in routes.split("\n")
    if route
}


def role_needed(route: str) -> Role | None:
    """None where nobody may."""
    return ROLES.get(route)
