"""The store: every access pattern, grouped by the noun it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.store.dedups import Dedups
from leasehold.store.holds import Holds
from leasehold.store.jobs import Jobs
from leasehold.store.letters import Letters
from leasehold.store.schedules import Schedules
from leasehold.store.switchboard import Switchboard

if TYPE_CHECKING:
    from leasehold.store.table import Table


class Store:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.jobs = Jobs(table)
        self.dedups = Dedups(table)
        self.holds = Holds(table)
        self.letters = Letters(table)
        self.schedules = Schedules(table)
        self.switchboard = Switchboard(table)
