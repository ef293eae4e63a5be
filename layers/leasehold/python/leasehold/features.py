"""Which features there are, and which jobs concern them. This is the only place that knows both kernel and features."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from leasehold.kernel.hooks import Feature, Hooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.api.idempotency import Requests
    from leasehold.audit.new_jobs import audit_of_new_job, entry_of_new_job, insert_recorded
    from leasehold.audit.records import Audits
    from leasehold.batches.gather import Gathering
    from leasehold.circuit_breaker.circuits import Circuits
    from leasehold.debounce.burst import debounced, enqueue_debounced
    from leasehold.direct_runs.records import DirectRequests, Leases, Reservations, reservation_of
    from leasehold.groups.records import Groups
    from leasehold.housekeeping.payload_rounds import PayloadRounds
    from leasehold.kernel.claim import Claims, HandOvers
    from leasehold.kernel.dedup import Dedups
    from leasehold.kernel.hooks import DueKind, Gate
    from leasehold.kernel.jobs import DueEntry, DueItem, Jobs
    from leasehold.kernel.offload import Payloads
    from leasehold.kernel.page import Poll
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.ports import Clock
    from leasehold.kernel.registry import Control, Registry
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Table
    from leasehold.limits.lines import Lines
    from leasehold.operate.dead_letters import DeadLetters
    from leasehold.operate.failure_report import report_failure
    from leasehold.operate.listings import Listings
    from leasehold.pollers.at_once import AtOnce
    from leasehold.pollers.hints import take_hints
    from leasehold.pollers.records import Pollers
    from leasehold.pollers.sharing import Part, Sharing
    from leasehold.runtime.signals import end_as_raised
    from leasehold.schedules.records import Schedules
    from leasehold.schemas.check import check_payload
    from leasehold.templates.model import TemplateCache, filled
    from leasehold.templates.records import Templates
    from leasehold.webhooks.address import checked_webhook, parse_webhook
# Of other modules, and asked for here: see _VERBS.
__all__ = [
    "Store",
    "audit_of_new_job",
    "check_payload",
    "checked_webhook",
    "debounced",
    "end_as_raised",
    "enqueue_debounced",
    "entry_of_new_job",
    "filled",
    "insert_recorded",
    "parse_webhook",
    "report_failure",
    "reservation_of",
    "take_hints",
]


def features() -> Sequence[Feature]:
    return _FEATURES


def open_gate(poll: Poll) -> Gate:
    """Who decides about jobs that are not plain, for one poll; see limits/gate.py."""
    return cast("Gate", import_module("leasehold.limits.gate").LimitsGate(poll))


def due_item(partition: str, sort: str) -> tuple[str, str] | None:
    """The kind and the name of what is due at a place where no job is; None where nothing ever is."""
    kind, _, name = partition.partition("#")
    if kind == "schedule" and not name:
        return kind, sort
    return (kind, name) if name and kind == sort == "group" else None


def due_kind(entry: DueItem) -> tuple[DueKind, str]:
    """Who tends an entry that is due and no job, and what a poll's report calls what comes of it."""
    module, counted = _DUE_KINDS[entry.kind]
    return import_module(f"leasehold.{module}").tend, counted


def open_sharing(services: Services, worker_id: str, shards: int, part: Part | None) -> Sharing:
    """Which of several pollers works where, for one poll that has met a backlog; see pollers/sharing.py."""
    sharing = import_module("leasehold.pollers.sharing")
    return cast("Sharing", sharing.Sharing(services, worker_id, shards, part or sharing.ALONE))


def open_at_once(claims: Claims) -> AtOnce:
    """Claims of a backlog, many by one request; see pollers/at_once.py."""
    return cast("AtOnce", import_module("leasehold.pollers.at_once").AtOnce(claims))


def open_hand_overs(poll: Poll) -> HandOvers:
    """Hand-overs side by side, bounded, or in batches; see pollers/hand_overs.py."""
    return cast("HandOvers", import_module("leasehold.pollers.hand_overs").SideBySide(poll))


def open_gathering() -> Gathering:
    """Who gathers jobs of batch types, for one poll; see batches/gather.py."""
    return cast("Gathering", import_module("leasehold.batches.gather").Gathering())


def ready_for_batches[Entry: DueEntry](
    entries: Sequence[Entry], registry: Registry, report: PollReport, now: datetime
) -> list[Entry]:
    """Without jobs of batch types that still wait for others."""
    return cast("list[Entry]", import_module("leasehold.batches.gather").ready(entries, registry, report, now))


def template_cache(store: Store, clock: Clock) -> TemplateCache:
    return cast("TemplateCache", import_module("leasehold.templates.model").TemplateCache(store, clock))


# Settings of a type that are a feature's own, by their field of JobType.
OPTIONS = {
    "batch": ("batches.model", "Batch"),
    "breaker": ("circuit_breaker.model", "CircuitBreaker"),
    "rate": ("limits.model", "Rate"),
    "rate_per_key": ("limits.model", "Rate"),
    "webhook": ("webhooks.address", "Webhook"),
}


def option(name: str) -> type:
    module, kind = OPTIONS[name]
    return cast("type", getattr(import_module(f"leasehold.{module}"), kind))


@cache
def _load(module: str, name: str) -> Hooks:
    return cast("type[Hooks]", getattr(import_module(f"leasehold.{module}"), name))()


# In the order in which they are asked: groups come last, since who is counted there owes nobody else anything.
_FEATURES = (
    Feature(
        name="webhooks",
        load=partial(_load, "webhooks.deliver", "WebhookHooks"),
        job_field="webhook",
        type_field="webhook",
    ),
    Feature(name="limits", load=partial(_load, "limits.seating", "SeatHooks"), job_field="seat"),
    Feature(
        name="circuit_breaker",
        load=partial(_load, "circuit_breaker.probes", "CircuitHooks"),
        type_field="breaker",
        joins_starts=True,
    ),
    Feature(name="groups", load=partial(_load, "groups.ends", "GroupHooks"), job_field="group_id"),
)

# By the kind of what is due: its folder's verb `tend`, and the count in a poll's report.
_DUE_KINDS = {"schedule": ("schedules.trigger", "triggered"), "group": ("groups.stop", "settled")}

# What the kernel asks features for, by name; imported when it is first asked for.
_VERBS = {
    "audit_of_new_job": "audit.new_jobs",
    "check_payload": "schemas.check",
    "checked_webhook": "webhooks.address",
    "debounced": "debounce.burst",
    "end_as_raised": "runtime.signals",
    "enqueue_debounced": "debounce.burst",
    "entry_of_new_job": "audit.new_jobs",
    "filled": "templates.model",
    "insert_recorded": "audit.new_jobs",
    "parse_webhook": "webhooks.address",
    "report_failure": "operate.failure_report",
    "reservation_of": "direct_runs.records",
    "take_hints": "pollers.hints",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _VERBS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        verb = getattr(import_module(f"leasehold.{_VERBS[name]}"), name)
        return globals().setdefault(name, verb)


# Made when it is first asked for: most functions need three of these, and each is an import.
_NOUNS = {
    "audits": ("audit.records", "Audits"),
    "jobs": ("kernel.jobs", "Jobs"),
    "circuits": ("circuit_breaker.circuits", "Circuits"),
    "dedups": ("kernel.dedup", "Dedups"),
    "direct_requests": ("direct_runs.records", "DirectRequests"),
    "groups": ("groups.records", "Groups"),
    "listings": ("operate.listings", "Listings"),
    "lines": ("limits.lines", "Lines"),
    "leases": ("direct_runs.records", "Leases"),
    "dead_letters": ("operate.dead_letters", "DeadLetters"),
    "payload_rounds": ("housekeeping.payload_rounds", "PayloadRounds"),
    "payloads": ("kernel.offload", "Payloads"),
    "requests": ("api.idempotency", "Requests"),
    "reservations": ("direct_runs.records", "Reservations"),
    "schedules": ("schedules.records", "Schedules"),
    "control": ("kernel.registry", "Control"),
    "pollers": ("pollers.records", "Pollers"),
    "templates": ("templates.records", "Templates"),
}


class Store:
    if TYPE_CHECKING:
        audits: Audits
        jobs: Jobs
        circuits: Circuits
        dedups: Dedups
        direct_requests: DirectRequests
        groups: Groups
        listings: Listings
        lines: Lines
        leases: Leases
        dead_letters: DeadLetters
        payload_rounds: PayloadRounds
        payloads: Payloads
        requests: Requests
        reservations: Reservations
        schedules: Schedules
        control: Control
        pollers: Pollers
        templates: Templates

    def __init__(self, table: Table) -> None:
        self.table = table

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name not in _NOUNS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            module, kind = _NOUNS[name]
            made = getattr(import_module(f"leasehold.{module}"), kind)(self.table)
            # Two threads may have made one each: all go on with the same.
            return self.__dict__.setdefault(name, made)
