"""The store: every access pattern, grouped by the noun it is about."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.store.audits import Audits
    from leasehold.store.circuits import Circuits
    from leasehold.store.dedups import Dedups
    from leasehold.store.direct_requests import DirectRequests
    from leasehold.store.groups import Groups
    from leasehold.store.jobs import Jobs
    from leasehold.store.leases import Leases
    from leasehold.store.letters import Letters
    from leasehold.store.lines import Lines
    from leasehold.store.payload_rounds import PayloadRounds
    from leasehold.store.payloads import Payloads
    from leasehold.store.requests import Requests
    from leasehold.store.reservations import Reservations
    from leasehold.store.schedules import Schedules
    from leasehold.store.switchboard import Switchboard
    from leasehold.store.table import Table
    from leasehold.store.templates import Templates

# Made when it is first asked for: most functions need three of these, and each is an import.
_NOUNS = {
    "audits": ("audits", "Audits"),
    "jobs": ("jobs", "Jobs"),
    "circuits": ("circuits", "Circuits"),
    "dedups": ("dedups", "Dedups"),
    "direct_requests": ("direct_requests", "DirectRequests"),
    "groups": ("groups", "Groups"),
    "lines": ("lines", "Lines"),
    "leases": ("leases", "Leases"),
    "letters": ("letters", "Letters"),
    "payload_rounds": ("payload_rounds", "PayloadRounds"),
    "payloads": ("payloads", "Payloads"),
    "requests": ("requests", "Requests"),
    "reservations": ("reservations", "Reservations"),
    "schedules": ("schedules", "Schedules"),
    "switchboard": ("switchboard", "Switchboard"),
    "templates": ("templates", "Templates"),
}


class Store:
    if TYPE_CHECKING:
        audits: Audits
        jobs: Jobs
        circuits: Circuits
        dedups: Dedups
        direct_requests: DirectRequests
        groups: Groups
        lines: Lines
        leases: Leases
        letters: Letters
        payload_rounds: PayloadRounds
        payloads: Payloads
        requests: Requests
        reservations: Reservations
        schedules: Schedules
        switchboard: Switchboard
        templates: Templates

    def __init__(self, table: Table) -> None:
        self.table = table

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name not in _NOUNS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            module, kind = _NOUNS[name]
            made = getattr(import_module(f"leasehold.store.{module}"), kind)(self.table)
            # Two threads may have made one each: all go on with the same.
            return self.__dict__.setdefault(name, made)
