"""The store: every access pattern, grouped by the noun it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.store.audits import Audits
from leasehold.store.circuits import Circuits
from leasehold.store.dedups import Dedups
from leasehold.store.direct_requests import DirectRequests
from leasehold.store.groups import Groups
from leasehold.store.holds import Holds
from leasehold.store.jobs import Jobs
from leasehold.store.leases import Leases
from leasehold.store.letters import Letters
from leasehold.store.requests import Requests
from leasehold.store.reservations import Reservations
from leasehold.store.schedules import Schedules
from leasehold.store.switchboard import Switchboard
from leasehold.store.templates import Templates

if TYPE_CHECKING:
    from leasehold.store.table import Table


class Store:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.audits = Audits(table)
        self.jobs = Jobs(table)
        self.circuits = Circuits(table)
        self.dedups = Dedups(table)
        self.direct_requests = DirectRequests(table)
        self.groups = Groups(table)
        self.holds = Holds(table)
        self.leases = Leases(table)
        self.letters = Letters(table)
        self.requests = Requests(table)
        self.reservations = Reservations(table)
        self.schedules = Schedules(table)
        self.switchboard = Switchboard(table)
        self.templates = Templates(table)
