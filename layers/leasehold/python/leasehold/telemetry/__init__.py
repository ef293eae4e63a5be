"""What is logged and measured: every log event and metric, by name. Dashboards and alarms read these and no others.

Beside it, what is traced (`spans`), and what must not be shown (`redaction`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from leasehold.lean import dataclass

NAMESPACE = "Leasehold"

# What may wake a poller.
TICK, STREAM, WAITING, HELPER = "tick", "stream", "waiting", "helper"
CHANNELS = (TICK, STREAM, WAITING, HELPER)


class Event(StrEnum):
    JOB_ENQUEUED = "job_enqueued"
    JOB_CLAIMED = "job_claimed"
    JOB_STARTED = "job_started"
    JOB_COMPLETED = "job_completed"
    JOB_SNOOZED = "job_snoozed"
    JOB_FAILED = "job_failed"
    JOB_CANCELLED = "job_cancelled"
    JOB_CANCEL_REQUESTED = "job_cancel_requested"
    JOB_DEAD_LETTERED = "job_dead_lettered"
    JOB_RELEASED = "job_released"
    JOB_REAPED = "job_reaped"
    JOB_HELD = "job_held"
    GROUP_CREATED = "group_created"
    GROUP_STOPPING = "group_stopping"
    GROUP_ENDED = "group_ended"
    CIRCUIT_OPENED = "circuit_opened"
    CIRCUIT_PROBED = "circuit_probed"
    CIRCUIT_CLOSED = "circuit_closed"
    DIRECT_RUN_RESERVED = "direct_run_reserved"
    DIRECT_RUN_STARTED = "direct_run_started"
    DIRECT_RUN_ENDED = "direct_run_ended"
    LEASE_LOST = "lease_lost"
    RECORD_UNREADABLE = "record_unreadable"
    POLL_FINISHED = "poll_finished"
    POLL_PAUSED = "poll_paused"
    ENTRY_FAILED = "entry_failed"
    ENTRY_DISAGREES = "entry_disagrees"
    BATCH_REFUSED = "batch_refused"
    BACKLOG_SAMPLED = "backlog_sampled"
    MIRROR_FAILED = "mirror_failed"
    SETTLE_FAILED = "settle_failed"
    WEBHOOK_DROPPED = "webhook_dropped"
    TIDY_FAILED = "tidy_failed"
    DEAD_LETTER_ALERT = "dead_letter_alert"
    REPORT_FAILED = "report_failed"
    SWEEP_FINISHED = "sweep_finished"
    PAYLOADS_KEPT = "payloads_kept"
    HANDLER_NOT_DESCRIBED = "handler_not_described"
    SCHEMA_CHANGED = "schema_changed"
    TYPE_NOT_DEPLOYED = "type_not_deployed"


class Unit(StrEnum):
    COUNT = "Count"
    SECONDS = "Seconds"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric under its dimensions. Each value of a dimension is billed as a metric of its own.

    is_detail: only sent where metrics are asked for per type; it tells nothing that an alarm needs.
    """

    name: str
    unit: Unit
    dimensions: tuple[str, ...] = ()
    is_detail: bool = False

    def sent_dimensions(self, *, per_type: bool) -> tuple[str, ...]:
        """Those it is sent with: without figures per type it counts for the whole queue."""
        return self.dimensions if per_type else tuple(name for name in self.dimensions if name != "job_type")


HEARTBEAT = Metric("heartbeat", Unit.COUNT)
WAKE_UPS = Metric("job_notification_received_total", Unit.COUNT, ("channel",), is_detail=True)
# Index entries and items that call themselves what their key does not let them be: somebody wrote where it may write.
DISAGREEMENTS = Metric("entry_disagreements_total", Unit.COUNT)
POLL_SCANNED = Metric("job_poll_scanned_total", Unit.COUNT, is_detail=True)
QUEUE_DEPTH = Metric("job_queue_depth", Unit.COUNT, ("job_type",))
OLDEST_DUE_AGE = Metric("job_oldest_due_age_seconds", Unit.SECONDS, ("job_type",))
CLAIMED = Metric("job_claimed_total", Unit.COUNT, ("job_type",), is_detail=True)
COMPLETED = Metric("job_completed_total", Unit.COUNT, ("job_type", "status"))
PROCESSING = Metric("job_processing_seconds", Unit.SECONDS, ("job_type",))
LATENESS = Metric("job_lateness_seconds", Unit.SECONDS, ("job_type",))
LEASES_LOST = Metric("job_lease_lost_total", Unit.COUNT, ("job_type",))
# 1 while a circuit breaker holds the type back, 0 while it does not; types without one have no such figure.
CIRCUIT_OPEN = Metric("circuit_open", Unit.COUNT, ("job_type",))
DEAD_LETTER_DEPTH = Metric("dead_letter_depth", Unit.COUNT)
DEAD_LETTER_OLDEST_AGE = Metric("dead_letter_oldest_age_seconds", Unit.SECONDS)

# In the order of this file.
METRICS = tuple(each for each in list(vars().values()) if isinstance(each, Metric))


class Telemetry(Protocol):
    def event(self, event: Event, **fields: object) -> None:
        """Write a structured log line."""

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        """Record one value of a metric under exactly its dimensions."""


class Silence:
    """Telemetry for programs that want none."""

    def event(self, event: Event, **fields: object) -> None:
        return

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        return
