"""Jobs that no run of ours makes: for each guard, one that this guard alone refuses.

A guard that another condition implies cannot be missed in a simulation. It still says something of its own, and a
table that somebody edited by hand may ask for it: put the job there, and try the write with and without the guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel import keys
from leasehold.kernel.jobs import Jobs
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import Put
from leasehold.kernel.transitions import TRANSITIONS, JobStatus
from tests.contract.engines import fresh_table
from tests.contract.transition_cases import JOB_ID, NOW, satisfying, violating_one, write_of
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.wire import connect_to, let_go
from tests.simulation.guards import SOURCES, Guard, name_of, without

if TYPE_CHECKING:
    from leasehold.kernel.table import Record, Table
    from leasehold.kernel.transitions import Transition


def is_missed(guard: Guard) -> bool:
    """Whether the job that this guard refuses is moved without it, and only then."""
    transition = next(each for each in TRANSITIONS if each.name == guard.transition)
    record = _refused_by(guard, transition)
    client = connect_to(Database(lambda: NOW).call)
    try:
        whole = _moves(fresh_table(client), transition, record)
        with without(guard):
            broken = _moves(fresh_table(client), transition, record)
    finally:
        let_go(client)
    return broken and not whole


def _refused_by(guard: Guard, transition: Transition) -> Record:
    if guard.name == SOURCES:
        elsewhere = next(status for status in JobStatus if status not in transition.sources)
        return next(satisfying(transition, elsewhere))
    cases = violating_one(transition, min(transition.sources))
    return next(record for condition, record in cases if name_of(condition) == guard.name)


def _moves(table: Table, transition: Transition, record: Record) -> bool:
    table.write(Put(key=keys.job(JOB_ID), record=record, conditions=()))
    try:
        Jobs(table).apply_and_read(write_of(transition))
    except TransitionRefused:
        return False
    return True
