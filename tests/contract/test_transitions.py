"""Every transition from every state: allowed exactly where the state machine says, and with exactly its effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.kernel import keys
from leasehold.kernel.jobs import Jobs
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import Put
from leasehold.kernel.transitions import TRANSITIONS, JobStatus, Transition
from tests.contract.transition_cases import JOB_ID, after, in_words, satisfying, violating_all, violating_one, write_of

if TYPE_CHECKING:
    from leasehold.kernel.table import Record, Table

ORPHANED = ["due_key as seen", "locked_by as seen", "lock_expires_at is past"]

# Said here once more, by hand: a slip in the state machine must not move the test along with it.
SOURCES = {
    "claim": "pending failed",
    "release": "in_progress",
    "start": "in_progress",
    "extend": "in_progress",
    "complete": "in_progress",
    "fail": "in_progress",
    "dead_letter": "in_progress",
    "snooze": "in_progress",
    "abort": "in_progress",
    "cancel": "pending failed in_progress",
    "request_cancel": "in_progress",
    "expire": "pending failed in_progress",
    "reap_unstarted": "in_progress",
    "reap_failed": "in_progress",
    "reap_dead": "in_progress",
    "reap_cancelled": "in_progress",
    "hold": "pending failed",
    "skip": "pending failed",
    "turn_away": "pending failed",
    "reschedule": "pending failed",
    "take_turn": "pending failed",
    "edit": "pending failed",
    "debounce": "pending",
    "settle": "completed cancelled dead_letter",
    "settle_run": "pending failed",
    "resolve": "dead_letter",
    "purge": "completed cancelled dead_letter",
}
TARGETS = {
    "claim": "in_progress",
    "release": "pending",
    "complete": "completed",
    "fail": "failed",
    "dead_letter": "dead_letter",
    "snooze": "pending",
    "abort": "cancelled",
    "cancel": "cancelled",
    "expire": "cancelled",
    "reap_unstarted": "pending",
    "reap_failed": "failed",
    "reap_dead": "dead_letter",
    "reap_cancelled": "cancelled",
    "skip": "completed",
    "turn_away": "cancelled",
}
GUARDS = {
    "claim": ["due_key as seen", "no start_by or start_by is to come or has last_attempt_at"],
    "release": ["locked_by as seen", "no started_at"],
    "start": ["locked_by as seen", "no start_by or start_by is to come or has last_attempt_at"],
    "extend": ["locked_by as seen", "lock_expires_at is to come", "lock_expires_at is not shortened"],
    "complete": ["locked_by as seen"],
    "fail": ["locked_by as seen", "no cancel_requested"],
    "dead_letter": ["locked_by as seen", "no cancel_requested"],
    "snooze": ["locked_by as seen", "no cancel_requested"],
    "abort": ["locked_by as seen"],
    "cancel": ["no started_at", "locked_by as seen"],
    "request_cancel": ["has started_at"],
    "expire": ["start_by is past", "no last_attempt_at", "no started_at", "locked_by as seen"],
    "reap_unstarted": [*ORPHANED, "no started_at"],
    "reap_failed": [*ORPHANED, "has started_at", "no cancel_requested"],
    "reap_dead": [*ORPHANED, "no cancel_requested"],
    "reap_cancelled": [*ORPHANED, "has cancel_requested"],
    "hold": ["due_key as seen", "due_lane as seen"],
    "skip": ["due_key as seen"],
    "turn_away": ["due_key as seen"],
    "reschedule": ["due_key as seen", "due_lane as seen"],
    "take_turn": ["due_key as seen", "priority as seen"],
    "edit": ["due_key as seen", "due_lane as seen", "payload as seen"],
    "debounce": ["due_key as seen", "due_lane as seen"],
    "settle": ["due_key as seen"],
    "settle_run": ["due_key as seen"],
    "resolve": [],
    "purge": ["completed_at as seen", "no owed"],
}

each_transition = pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda each: each.name)


def is_allowed(table: Table, transition: Transition, record: Record) -> bool:
    """Put the job straight into the table and try the write: exactly its effect must be stored, or nothing of it."""
    key = keys.job(JOB_ID)
    table.write(Put(key=key, record=record, conditions=()))
    write = write_of(transition)
    try:
        Jobs(table).apply_and_read(write)
    except TransitionRefused:
        assert table.get(key) == {**key.attributes, **record}
        return False
    assert table.get(key) == {**key.attributes, **after(write, record)}
    return True


def test_the_state_machine_has_the_transitions_of_the_design() -> None:
    assert {each.name for each in TRANSITIONS} == set(SOURCES)
    assert {each.name: str(each.target) for each in TRANSITIONS if each.target} == TARGETS
    assert {each.name: [in_words(guard) for guard in each.guards] for each in TRANSITIONS} == GUARDS


@each_transition
def test_a_transition_is_allowed_exactly_from_its_source_states(table: Table, transition: Transition) -> None:
    for status in JobStatus:
        is_source = status in SOURCES[transition.name].split()
        for record in satisfying(transition, status):
            assert is_allowed(table, transition, record) is is_source, f"{transition.name} from {status}: {record}"


@each_transition
def test_a_transition_is_refused_from_every_state_where_its_guards_do_not_hold(
    table: Table, transition: Transition
) -> None:
    for status in JobStatus if transition.guards else []:
        record = violating_all(transition, status)
        assert not is_allowed(table, transition, record), f"{transition.name} from {status}: {record}"


@each_transition
def test_each_guard_of_a_transition_is_needed(table: Table, transition: Transition) -> None:
    for status in transition.sources:
        for guard, record in violating_one(transition, status):
            assert not is_allowed(table, transition, record), f"{transition.name} from {status} without {guard}"


@each_transition
def test_a_transition_of_a_job_that_is_gone_is_refused(table: Table, transition: Transition) -> None:
    with pytest.raises(TransitionRefused) as refused:
        Jobs(table).apply_and_read(write_of(transition))

    assert refused.value.current is None
    assert table.get(keys.job(JOB_ID)) is None
