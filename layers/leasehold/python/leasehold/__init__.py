"""Leasehold: a serverless scheduled job queue for AWS.

Names are resolved when they are first used: a poller that needs none of the handler's models does not import pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.bulk.enqueue_many import Rejected as Rejected
    from leasehold.bulk.sdk import TransactEnqueue as TransactEnqueue
    from leasehold.circuit_breaker.model import CircuitBreaker as CircuitBreaker
    from leasehold.groups.create import GroupCreated as GroupCreated
    from leasehold.groups.model import Group as Group
    from leasehold.groups.model import GroupMode as GroupMode
    from leasehold.groups.model import GroupState as GroupState
    from leasehold.groups.model import OnFailure as OnFailure
    from leasehold.kernel.dead_letter import DeadLetter as DeadLetter
    from leasehold.kernel.dedup import Day as Day
    from leasehold.kernel.dedup import UntilEnded as UntilEnded
    from leasehold.kernel.dedup import Within as Within
    from leasehold.kernel.enqueue import Enqueued as Enqueued
    from leasehold.kernel.enqueue import NewJob as NewJob
    from leasehold.kernel.enqueue import OnDuplicate as OnDuplicate
    from leasehold.kernel.errors import LeaseholdError as LeaseholdError
    from leasehold.kernel.errors import NonRetryableError as NonRetryableError
    from leasehold.kernel.job import Job as Job
    from leasehold.kernel.job import Outcome as Outcome
    from leasehold.kernel.job import Run as Run
    from leasehold.kernel.job_type import JobType as JobType
    from leasehold.kernel.keys import Priority as Priority
    from leasehold.kernel.poll import Poller as Poller
    from leasehold.kernel.registry import Registry as Registry
    from leasehold.kernel.retry import Delays as Delays
    from leasehold.kernel.retry import Exponential as Exponential
    from leasehold.kernel.retry import Fixed as Fixed
    from leasehold.kernel.transitions import JobStatus as JobStatus
    from leasehold.kernel.type_options import OnFull as OnFull
    from leasehold.kernel.type_options import Retention as Retention
    from leasehold.limits.model import ConcurrencyPolicy as ConcurrencyPolicy
    from leasehold.limits.model import DeployedLimits as DeployedLimits
    from leasehold.limits.model import Limit as Limit
    from leasehold.limits.model import Rate as Rate
    from leasehold.operate.operator import Operator as Operator
    from leasehold.queue import Queue as Queue
    from leasehold.runtime.functions import job as job
    from leasehold.runtime.handler import BaseJobHandler as BaseJobHandler
    from leasehold.runtime.handler import JobContext as JobContext
    from leasehold.runtime.signals import Cancel as Cancel
    from leasehold.runtime.signals import Skip as Skip
    from leasehold.runtime.signals import Snooze as Snooze
    from leasehold.runtime.worker import Worker as Worker
    from leasehold.scheduler import JobScheduler as JobScheduler
    from leasehold.scheduler import JobSchedulerProtocol as JobSchedulerProtocol
    from leasehold.schedules.model import Missed as Missed
    from leasehold.schedules.model import Overlap as Overlap
    from leasehold.schedules.model import Schedule as Schedule
    from leasehold.schedules.recurrence import InTheGap as InTheGap
    from leasehold.schedules.recurrence import WhenRepeated as WhenRepeated
    from leasehold.telemetry.spans import current_trace as current_trace
    from leasehold.telemetry.spans import trace_context as trace_context
    from leasehold.templates.model import Template as Template

# Where each public name lives.
_HOMES = {
    "bulk.enqueue_many": ("Rejected",),
    "bulk.sdk": ("TransactEnqueue",),
    "circuit_breaker.model": ("CircuitBreaker",),
    "groups.create": ("GroupCreated",),
    "groups.model": ("Group", "GroupMode", "GroupState", "OnFailure"),
    "kernel.dead_letter": ("DeadLetter",),
    "kernel.dedup": ("Day", "UntilEnded", "Within"),
    "kernel.enqueue": ("Enqueued", "NewJob", "OnDuplicate"),
    "kernel.errors": ("LeaseholdError", "NonRetryableError"),
    "kernel.job": ("Job", "Outcome", "Run"),
    "kernel.job_type": ("JobType",),
    "kernel.keys": ("Priority",),
    "kernel.poll": ("Poller",),
    "kernel.registry": ("Registry",),
    "kernel.retry": ("Delays", "Exponential", "Fixed"),
    "kernel.transitions": ("JobStatus",),
    "kernel.type_options": ("OnFull", "Retention"),
    "limits.model": ("ConcurrencyPolicy", "DeployedLimits", "Limit", "Rate"),
    "operate.operator": ("Operator",),
    "queue": ("Queue",),
    "runtime.functions": ("job",),
    "runtime.handler": ("BaseJobHandler", "JobContext"),
    "runtime.signals": ("Cancel", "Skip", "Snooze"),
    "runtime.worker": ("Worker",),
    "scheduler": ("JobScheduler", "JobSchedulerProtocol"),
    "schedules.model": ("Missed", "Overlap", "Schedule"),
    "schedules.recurrence": ("InTheGap", "WhenRepeated"),
    "telemetry.spans": ("current_trace", "trace_context"),
    "templates.model": ("Template",),
}
_HOME_OF = {name: f"leasehold.{module}" for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  type checkers read the imports


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
