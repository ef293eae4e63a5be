"""Names of the environment variables that deployed functions read; the constructs set them."""

from __future__ import annotations

import hashlib
import json

API_ACCESS = "LEASEHOLD_API_ACCESS"
AUDIT_ROOTS_BUCKET = "LEASEHOLD_AUDIT_ROOTS_BUCKET"
# Which deployment this is, e.g. prod.
ENVIRONMENT_NAME = "LEASEHOLD_ENVIRONMENT_NAME"
EVENT_BUS = "LEASEHOLD_EVENT_BUS"
# What people know a function by, e.g. poller: its real name is CloudFormation's.
FUNCTION = "LEASEHOLD_FUNCTION"
JOBS_TABLE = "LEASEHOLD_JOBS_TABLE"
# The folder where a deployed function has what lies beside its own, i.e. `common`.
BESIDE = "_beside"
CONCURRENCY_POLICY = "LEASEHOLD_CONCURRENCY_POLICY"
DIRECT_RUNNER = "LEASEHOLD_DIRECT_RUNNER"
DEAD_LETTERS_TABLE = "LEASEHOLD_DEAD_LETTERS_TABLE"
# The module that a job function imports its handler from, by the name that it has in its project.
HANDLER = "LEASEHOLD_HANDLER"
METRICS_NAMESPACE = "LEASEHOLD_METRICS_NAMESPACE"
METRICS_PER_TYPE = "LEASEHOLD_METRICS_PER_TYPE"
POLLER_FUNCTION = "LEASEHOLD_POLLER_FUNCTION"
POLL_INTERVAL = "LEASEHOLD_POLL_INTERVAL_SECONDS"
QUEUE_NAME = "LEASEHOLD_QUEUE_NAME"
POLL_LIMIT = "LEASEHOLD_POLL_LIMIT"
SCHEDULE_FUNCTION = "LEASEHOLD_SCHEDULE_FUNCTION_ARN"
SCHEDULE_GROUP = "LEASEHOLD_SCHEDULE_GROUP"
SCHEDULE_ROLE = "LEASEHOLD_SCHEDULE_ROLE_ARN"
SENTRY_DSN_SECRET = "LEASEHOLD_SENTRY_DSN_SECRET"
SENTRY_DSN_PARAMETER = "LEASEHOLD_SENTRY_DSN_PARAMETER"
# A queue that a program was granted something of: its names as JSON, one variable for each queue.
TABLES_PREFIX = "LEASEHOLD_TABLES_"
WEBHOOK_KEYS_SECRET = "LEASEHOLD_WEBHOOK_KEYS_SECRET"
WEBHOOK_KEYS_PARAMETER = "LEASEHOLD_WEBHOOK_KEYS_PARAMETER"
WEBHOOK_PORTS = "LEASEHOLD_WEBHOOK_PORTS"
# Set by tests on the local AWS, and by nobody else: the file of an authority whose receivers on this machine may be
# called.
WEBHOOK_LOOPBACK_AUTHORITY = "LEASEHOLD_WEBHOOK_LOOPBACK_AUTHORITY"


def discovery_parameter(queue_name: str) -> str:
    """The SSM parameter that says where a queue is.

    >>> discovery_parameter("my-app-jobs")
    '/leasehold/my-app-jobs'
    """
    return f"/leasehold/{queue_name}"


SOURCE = "leasehold.schedule"
MAX_NAME = 64  # by EventBridge


def event_schedule_name(name: str) -> str:
    """Unique in the queue's own group.

    >>> event_schedule_name("backup")
    'backup'
    """
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def wake_event(name: str) -> str:
    """What the trigger function is given."""
    return json.dumps({"source": SOURCE, "schedule": name})


WAITING_SOURCE = "leasehold.waiting"
# A backlog is more than one poller's work: `part` of `of` says where this one begins.
HELPER_SOURCE = "leasehold.helper"
# What a deployment asks a handler before it publishes its type: see functions/registry_publisher.
DESCRIBE_SOURCE = "leasehold.describe"
# A seat was freed that somebody waits for: `scopes` are their names.
FREED_SOURCE = "leasehold.freed"
