"""Leasehold for CDK apps: `from leasehold.cdk import JobQueue`. Installed with `pip install "leasehold[cdk]"`."""

from __future__ import annotations

from leasehold.aws.api_access import Access, Jwt
from leasehold.cdk.context import AlarmOptions, ApiOptions, AuditRootOptions, WebhookOptions
from leasehold.cdk.grants import JobQueueBase
from leasehold.cdk.handlers import Handler
from leasehold.cdk.job_queue import JobQueue
from leasehold.cdk.store import JobQueueStore

__all__ = [
    "Access",
    "AlarmOptions",
    "ApiOptions",
    "AuditRootOptions",
    "Handler",
    "JobQueue",
    "JobQueueBase",
    "JobQueueStore",
    "Jwt",
    "WebhookOptions",
]
