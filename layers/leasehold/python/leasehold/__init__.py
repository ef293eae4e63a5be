"""Leasehold: a serverless scheduled job queue for AWS.

Names are resolved when they are first used: a poller that needs none of the handler's models does not import pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.client.operator import Operator
    from leasehold.client.queue import NewJob, Queue, TransactEnqueue
    from leasehold.client.scheduler import JobScheduler, JobSchedulerProtocol
    from leasehold.client.tracing import current_trace, trace_context
    from leasehold.domain.breaker import CircuitBreaker
    from leasehold.domain.control import Registry
    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.dedup import Day, UntilEnded, Within
    from leasehold.domain.due import Priority
    from leasehold.domain.errors import LeaseholdError, NonRetryableError
    from leasehold.domain.group import Group, GroupMode, GroupState, OnFailure
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType, Retention
    from leasehold.domain.lifecycle import JobStatus
    from leasehold.domain.limits import ConcurrencyPolicy, DeployedLimits, Limit, OnFull, Rate
    from leasehold.domain.recurrence import InTheGap, WhenRepeated
    from leasehold.domain.retry import Delays, Exponential, Fixed
    from leasehold.domain.run import Outcome, Run
    from leasehold.domain.schedule import Missed, Overlap, Schedule
    from leasehold.domain.signals import Cancel, Skip, Snooze
    from leasehold.domain.template import Template
    from leasehold.engine.create_group import GroupCreated
    from leasehold.engine.enqueue import Enqueued, OnDuplicate, Rejected
    from leasehold.kernel.poll import Poller
    from leasehold.runtime.context import JobContext
    from leasehold.runtime.handler import BaseJobHandler, job
    from leasehold.runtime.worker import Worker

_HOMES = {
    "leasehold.client.operator": ("Operator",),
    "leasehold.client.queue": ("NewJob", "Queue", "TransactEnqueue"),
    "leasehold.client.scheduler": ("JobScheduler", "JobSchedulerProtocol"),
    "leasehold.client.tracing": ("current_trace", "trace_context"),
    "leasehold.domain.breaker": ("CircuitBreaker",),
    "leasehold.domain.control": ("Registry",),
    "leasehold.domain.dead_letter": ("DeadLetter",),
    "leasehold.domain.dedup": ("Day", "UntilEnded", "Within"),
    "leasehold.domain.due": ("Priority",),
    "leasehold.domain.errors": ("LeaseholdError", "NonRetryableError"),
    "leasehold.domain.group": ("Group", "GroupMode", "GroupState", "OnFailure"),
    "leasehold.domain.job": ("Job",),
    "leasehold.domain.job_type": ("JobType", "Retention"),
    "leasehold.domain.lifecycle": ("JobStatus",),
    "leasehold.domain.limits": ("ConcurrencyPolicy", "DeployedLimits", "Limit", "OnFull", "Rate"),
    "leasehold.domain.recurrence": ("InTheGap", "WhenRepeated"),
    "leasehold.domain.retry": ("Delays", "Exponential", "Fixed"),
    "leasehold.domain.run": ("Outcome", "Run"),
    "leasehold.domain.schedule": ("Missed", "Overlap", "Schedule"),
    "leasehold.domain.signals": ("Cancel", "Skip", "Snooze"),
    "leasehold.domain.template": ("Template",),
    "leasehold.engine.create_group": ("GroupCreated",),
    "leasehold.engine.enqueue": ("Enqueued", "OnDuplicate", "Rejected"),
    "leasehold.kernel.poll": ("Poller",),
    "leasehold.runtime.context": ("JobContext",),
    "leasehold.runtime.handler": ("BaseJobHandler", "job"),
    "leasehold.runtime.worker": ("Worker",),
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
