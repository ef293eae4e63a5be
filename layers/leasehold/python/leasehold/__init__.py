"""Leasehold: a serverless scheduled job queue for AWS.

Names are resolved when they are first used: a poller that needs none of the handler's models does not import pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.bulk.enqueue_many import Rejected
    from leasehold.bulk.sdk import TransactEnqueue
    from leasehold.circuit_breaker.model import CircuitBreaker
    from leasehold.groups.create import GroupCreated
    from leasehold.groups.model import Group, GroupMode, GroupState, OnFailure
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.dedup import Day, UntilEnded, Within
    from leasehold.kernel.enqueue import Enqueued, NewJob, OnDuplicate
    from leasehold.kernel.errors import LeaseholdError, NonRetryableError
    from leasehold.kernel.job import Job, Outcome, Run
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import Priority
    from leasehold.kernel.poll import Poller
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.retry import Delays, Exponential, Fixed
    from leasehold.kernel.transitions import JobStatus
    from leasehold.kernel.type_options import OnFull, Retention
    from leasehold.limits.model import ConcurrencyPolicy, DeployedLimits, Limit, Rate
    from leasehold.operate.operator import Operator
    from leasehold.queue import Queue
    from leasehold.runtime.functions import job
    from leasehold.runtime.handler import BaseJobHandler, JobContext
    from leasehold.runtime.signals import Cancel, Skip, Snooze
    from leasehold.runtime.worker import Worker
    from leasehold.scheduler import JobScheduler, JobSchedulerProtocol
    from leasehold.schedules.model import Missed, Overlap, Schedule
    from leasehold.schedules.recurrence import InTheGap, WhenRepeated
    from leasehold.telemetry.spans import current_trace, trace_context
    from leasehold.templates.model import Template

_HOMES = {
    "leasehold.groups.create": ("GroupCreated",),
    "leasehold.groups.model": ("Group", "GroupMode", "GroupState", "OnFailure"),
    "leasehold.bulk.enqueue_many": ("Rejected",),
    "leasehold.kernel.dead_letter": ("DeadLetter",),
    "leasehold.kernel.dedup": ("Day", "UntilEnded", "Within"),
    "leasehold.kernel.keys": ("Priority",),
    "leasehold.kernel.enqueue": ("Enqueued", "NewJob", "OnDuplicate"),
    "leasehold.kernel.errors": ("LeaseholdError", "NonRetryableError"),
    "leasehold.runtime.signals": ("Cancel", "Skip", "Snooze"),
    "leasehold.kernel.job": ("Job", "Outcome", "Run"),
    "leasehold.kernel.job_type": ("JobType",),
    "leasehold.kernel.poll": ("Poller",),
    "leasehold.kernel.registry": ("Registry",),
    "leasehold.kernel.retry": ("Delays", "Exponential", "Fixed"),
    "leasehold.telemetry.spans": ("current_trace", "trace_context"),
    "leasehold.kernel.transitions": ("JobStatus",),
    "leasehold.kernel.type_options": ("OnFull", "Retention"),
    "leasehold.circuit_breaker.model": ("CircuitBreaker",),
    "leasehold.limits.model": ("ConcurrencyPolicy", "DeployedLimits", "Limit", "Rate"),
    "leasehold.operate.operator": ("Operator",),
    "leasehold.bulk.sdk": ("TransactEnqueue",),
    "leasehold.queue": ("Queue",),
    "leasehold.runtime.functions": ("job",),
    "leasehold.runtime.handler": ("BaseJobHandler", "JobContext"),
    "leasehold.runtime.worker": ("Worker",),
    "leasehold.scheduler": ("JobScheduler", "JobSchedulerProtocol"),
    "leasehold.schedules.model": ("Missed", "Overlap", "Schedule"),
    "leasehold.schedules.recurrence": ("InTheGap", "WhenRepeated"),
    "leasehold.templates.model": ("Template",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BaseJobHandler",
    "Cancel",
    "CircuitBreaker",
    "ConcurrencyPolicy",
    "Day",
    "DeadLetter",
    "Delays",
    "DeployedLimits",
    "Enqueued",
    "Exponential",
    "Fixed",
    "Group",
    "GroupCreated",
    "GroupMode",
    "GroupState",
    "InTheGap",
    "Job",
    "JobContext",
    "JobScheduler",
    "JobSchedulerProtocol",
    "JobStatus",
    "JobType",
    "LeaseholdError",
    "Limit",
    "Missed",
    "NewJob",
    "NonRetryableError",
    "OnDuplicate",
    "OnFailure",
    "OnFull",
    "Operator",
    "Outcome",
    "Overlap",
    "Poller",
    "Priority",
    "Queue",
    "Rate",
    "Registry",
    "Rejected",
    "Retention",
    "Run",
    "Schedule",
    "Skip",
    "Snooze",
    "Template",
    "TransactEnqueue",
    "UntilEnded",
    "WhenRepeated",
    "Within",
    "Worker",
    "current_trace",
    "job",
    "trace_context",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
