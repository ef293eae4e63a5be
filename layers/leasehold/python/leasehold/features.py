"""Which features there are, and which jobs concern them. This is the only place that knows both kernel and features."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from leasehold.kernel.hooks import Feature, Hooks

# ruff: noqa: PLC0414  what is handed on is imported under its own name, for type checkers
if TYPE_CHECKING:
    from leasehold.api.idempotency import Requests
    from leasehold.audit.new_jobs import audit_of_new_job as audit_of_new_job
    from leasehold.audit.new_jobs import entry_of_new_job as entry_of_new_job
    from leasehold.audit.new_jobs import insert_recorded as insert_recorded
    from leasehold.audit.records import Audits
    from leasehold.batches.gather import Gathering as Gathering
    from leasehold.batches.gather import ready_for_batches as ready_for_batches
    from leasehold.circuit_breaker.circuits import Circuits
    from leasehold.debounce.burst import debounced as debounced
    from leasehold.debounce.burst import enqueue_debounced as enqueue_debounced
    from leasehold.direct_runs.records import DirectRequests, Reservations
    from leasehold.direct_runs.records import reservation_of as reservation_of
    from leasehold.groups.records import Groups
    from leasehold.housekeeping.payload_rounds import PayloadRounds
    from leasehold.kernel.dedup import Dedups
    from leasehold.kernel.jobs import Jobs
    from leasehold.kernel.offload import Payloads
    from leasehold.kernel.other_entries import DueItem
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.registry import Control
    from leasehold.kernel.table import Table
    from leasehold.limits.gate import gate_of as gate_of
    from leasehold.limits.lanes import is_left_to_wakes as is_left_to_wakes
    from leasehold.limits.lines import Lines
    from leasehold.limits.scopes import awakened as awakened
    from leasehold.limits.settings import check_limits as check_limits
    from leasehold.limits.settings import check_shared_limits as check_shared_limits
    from leasehold.operate.dead_letters import DeadLetters
    from leasehold.operate.failure_report import report_failure as report_failure
    from leasehold.operate.listings import Listings
    from leasehold.operate.registration import refuse_shared_codes as refuse_shared_codes
    from leasehold.pollers.at_once import AtOnce as AtOnce
    from leasehold.pollers.hand_overs import SideBySide as SideBySide
    from leasehold.pollers.hints import take_hints as take_hints
    from leasehold.pollers.records import Pollers
    from leasehold.pollers.settle import settle as settle
    from leasehold.pollers.sharing import share as share
    from leasehold.runtime.signals import end_as_raised as end_as_raised
    from leasehold.schedules.records import Schedules
    from leasehold.schemas.check import check_payload as check_payload
    from leasehold.schemas.payload_models import dumped as dumped
    from leasehold.schemas.payload_models import resolve_model as resolve_model
    from leasehold.templates.model import filled as filled
    from leasehold.templates.records import Templates
    from leasehold.webhooks.address import checked_webhook as checked_webhook
    from leasehold.webhooks.address import parse_webhook as parse_webhook

# What the kernel asks features for, by name: verbs, and what a poll opens for jobs that are not plain or are many.
# Imported when it is first asked for.
_HOMES = {
    "AtOnce": "pollers.at_once",
    "Gathering": "batches.gather",
    "SideBySide": "pollers.hand_overs",
    "audit_of_new_job": "audit.new_jobs",
    "awakened": "limits.scopes",
    "check_limits": "limits.settings",
    "check_payload": "schemas.check",
    "check_shared_limits": "limits.settings",
    "checked_webhook": "webhooks.address",
    "debounced": "debounce.burst",
    "dumped": "schemas.payload_models",
    "end_as_raised": "runtime.signals",
    "enqueue_debounced": "debounce.burst",
    "entry_of_new_job": "audit.new_jobs",
    "filled": "templates.model",
    "gate_of": "limits.gate",
    "insert_recorded": "audit.new_jobs",
    "is_left_to_wakes": "limits.lanes",
    "parse_webhook": "webhooks.address",
    "ready_for_batches": "batches.gather",
    "refuse_shared_codes": "operate.registration",
    "report_failure": "operate.failure_report",
    "reservation_of": "direct_runs.records",
    "resolve_model": "schemas.payload_models",
    "settle": "pollers.settle",
    "share": "pollers.sharing",
    "take_hints": "pollers.hints",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, _named(_HOMES[name], name))


def _named(module: str, name: str) -> Any:
    return getattr(import_module(f"leasehold.{module}"), name)


def due_item(partition: str, sort: str) -> tuple[str, str] | None:
    """The kind and the name of what is due at a place where no job is; None where nothing ever is."""
    kind, _, name = partition.partition("#")
    if kind == "schedule" and not name:
        return kind, sort
    return (kind, name) if name and kind == sort == "group" else None


# By the kind of what is due: its folder's verb `tend`, and the count in a poll's report to which that adds.
_DUE_KINDS = {"schedule": ("schedules.trigger", "triggered"), "group": ("groups.stop", "settled")}


def tend(entry: DueItem, poll: Poll) -> None:
    """Have its feature deal with an entry that is due and no job."""
    module, counted = _DUE_KINDS[entry.kind]
    worker_id = poll.poller.worker_id
    done = _named(module, "tend")(entry, poll.services, worker_id=worker_id, may_go_on=poll.may_go_on)
    setattr(poll.report, counted, getattr(poll.report, counted) + done)


# Settings of a type that are a feature's own, by their field of JobType.
OPTIONS = {
    "batch": ("batches.model", "Batch"),
    "breaker": ("circuit_breaker.model", "CircuitBreaker"),
    "rate": ("limits.model", "Rate"),
    "rate_per_key": ("limits.model", "Rate"),
    "webhook": ("webhooks.address", "Webhook"),
}


def option(name: str) -> type:
    return cast("type", _named(*OPTIONS[name]))


@cache
def _load(module: str, name: str) -> Hooks:
    return cast("Hooks", _named(module, name)())


# In the order in which they are asked: groups come last, since who is counted there owes nobody else anything.
FEATURES: tuple[Feature, ...] = (
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


class _Noun[T]:
    """Made when it is first asked for: most functions need three of these, and each is an import."""

    def __init__(self, module: str, kind: str) -> None:
        self._home = module, kind

    def __set_name__(self, _store: type, name: str) -> None:
        self._name = name

    def __get__(self, store: Store, _kind: type) -> T:
        # Two threads may have made one each: all go on with the same. It is found before this from now on.
        return cast("T", store.__dict__.setdefault(self._name, _named(*self._home)(store.table)))


class Store:
    audits: _Noun[Audits] = _Noun("audit.records", "Audits")
    circuits: _Noun[Circuits] = _Noun("circuit_breaker.circuits", "Circuits")
    control: _Noun[Control] = _Noun("kernel.registry", "Control")
    dead_letters: _Noun[DeadLetters] = _Noun("operate.dead_letters", "DeadLetters")
    dedups: _Noun[Dedups] = _Noun("kernel.dedup", "Dedups")
    direct_requests: _Noun[DirectRequests] = _Noun("direct_runs.records", "DirectRequests")
    groups: _Noun[Groups] = _Noun("groups.records", "Groups")
    jobs: _Noun[Jobs] = _Noun("kernel.jobs", "Jobs")
    lines: _Noun[Lines] = _Noun("limits.lines", "Lines")
    listings: _Noun[Listings] = _Noun("operate.listings", "Listings")
    payload_rounds: _Noun[PayloadRounds] = _Noun("housekeeping.payload_rounds", "PayloadRounds")
    payloads: _Noun[Payloads] = _Noun("kernel.offload", "Payloads")
    pollers: _Noun[Pollers] = _Noun("pollers.records", "Pollers")
    requests: _Noun[Requests] = _Noun("api.idempotency", "Requests")
    reservations: _Noun[Reservations] = _Noun("direct_runs.records", "Reservations")
    schedules: _Noun[Schedules] = _Noun("schedules.records", "Schedules")
    templates: _Noun[Templates] = _Noun("templates.records", "Templates")

    def __init__(self, table: Table) -> None:
        self.table = table
