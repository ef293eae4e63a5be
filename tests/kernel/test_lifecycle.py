"""The transition table makes sense as a whole."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel import transitions
from leasehold.kernel.job import Job
from leasehold.kernel.jobs import Write, bind, conditions_of, transition
from leasehold.kernel.keys import JobId
from leasehold.kernel.table import Above, After, AnyOf, Equals, Exists, Missing, NotAfter, OneOf, Seen
from leasehold.kernel.transitions import (
    CLAIM,
    COMPLETE,
    ENDED,
    EXPIRE,
    PURGE,
    RESOLVE,
    RUNNING,
    SETTLE,
    START,
    TRANSITIONS,
    WAITING,
    JobStatus,
    Transition,
    Writer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.table import Condition

# Where a record's attribute is not named like the job's field.
RENAMED = {"payload": "stored_payload", "result": "result_text", "due_key": "due"}
SEEN = {"completed_at", "due_key", "due_lane", "locked_by", "now", "payload", "priority", "until"}
each_transition = pytest.mark.parametrize("step", TRANSITIONS, ids=lambda step: step.name)


def leaves(conditions: tuple[Condition, ...]) -> Iterator[Exists | Missing | Equals | OneOf | After | NotAfter | Above]:
    for condition in conditions:
        if isinstance(condition, AnyOf):
            yield from leaves(condition.conditions)
        else:
            yield condition


def touched(step: Transition) -> frozenset[str]:
    return step.sets | step.may_set | step.removes | {name for name, _ in step.adds}


def test_every_transition_of_the_module_is_in_the_table_once():
    named = [value for value in vars(transitions).values() if isinstance(value, Transition)]

    assert len({step.name for step in TRANSITIONS}) == len(TRANSITIONS)
    assert {step.name for step in named} == {step.name for step in TRANSITIONS}


def test_every_state_is_waiting_running_or_ended():
    assert set(JobStatus) == WAITING | RUNNING | ENDED
    assert len(WAITING) + len(RUNNING) + len(ENDED) == len(JobStatus)


@each_transition
def test_a_transition_touches_only_what_a_job_has(step):
    attributes = touched(step) | {leaf.attribute for leaf in leaves(step.guards)}

    assert {RENAMED.get(name, name) for name in attributes} <= {field.name for field in fields(Job)}


@each_transition
def test_no_attribute_is_written_in_two_ways_by_one_expression(step):
    added = {name for name, _ in step.adds}

    assert step.sets.isdisjoint(step.may_set)
    assert added.isdisjoint(step.sets | step.may_set | step.removes)
    assert step.sets.isdisjoint(step.removes - step.sets)
    assert "status" not in touched(step)


@each_transition
def test_a_guard_asks_only_for_what_writers_see(step):
    values = [getattr(leaf, "value", None) for leaf in leaves(step.guards)]
    asked = {value.name for value in values if isinstance(value, Seen)}

    assert asked <= SEEN
    bound = leaves(conditions_of(step, dict.fromkeys(asked, "x")))
    assert not any(isinstance(getattr(leaf, "value", None), Seen) for leaf in bound)


def test_end_states_absorb():
    leaving = {step.name for step in TRANSITIONS if step.sources & ENDED}

    assert leaving == {SETTLE.name, RESOLVE.name, PURGE.name}
    assert {SETTLE.target, RESOLVE.target, PURGE.target} == {None}


def test_every_state_is_reached_and_every_job_can_end():
    reached = {JobStatus.PENDING}
    while more := {step.target for step in TRANSITIONS if step.sources & reached and step.target} - reached:
        reached |= more
    assert reached == set(JobStatus)

    ending = set(ENDED)
    while more := {source for step in TRANSITIONS if step.target in ending for source in step.sources} - ending:
        ending |= more
    assert ending == set(JobStatus)


@each_transition
def test_an_end_leaves_the_index_and_frees_what_it_held(step):
    if step.target in ENDED:
        assert {"locked_by", "lock_expires_at", "due_key", "due_lane", "seat", "wake"} <= step.removes
        assert "completed_at" in step.sets


@each_transition
def test_a_job_that_goes_back_enters_the_index_anew_and_loses_its_lease(step):
    if step.target in WAITING:
        assert {"due_key", "due_lane"} <= step.sets
        assert {"locked_by", "locked_at", "lock_expires_at", "seat", "started_at"} <= step.removes


@each_transition
def test_a_handler_writes_only_under_the_lease_it_holds(step):
    if Writer.HANDLER in step.by and step is not EXPIRE:
        assert Equals("locked_by", Seen("locked_by")) in step.guards


@each_transition
def test_a_lost_response_is_recognised_by_something_that_only_its_writer_sets(step):
    if step.signature is not None:
        assert step.signature in step.sets | step.may_set


def test_an_attempt_is_counted_at_the_start_and_a_hand_over_at_the_claim():
    assert START.adds == (("attempts", 1),)
    assert CLAIM.adds == (("dispatches", 1),)
    assert [step.name for step in TRANSITIONS if ("attempts", -1) in step.adds] == ["snooze"]


def test_a_write_provides_exactly_what_its_transition_takes():
    with pytest.raises(TypeError, match=r"complete: lacks \['completed_at', 'runs'\], does not take \['priority'\]"):
        transition(Write(job_id=JobId("x"), transition=COMPLETE, values={"priority": 1}))


def test_what_is_provided_is_not_removed():
    job_id = JobId("019b76da-a800-8008-a44f-d9cd560b9640")
    write = Write(job_id=job_id, transition=SETTLE, seen={"due_key": "now"}, values={"due_key": "later"})

    assert transition(write).removes == {"due_lane", "owed", "wake"}


def test_binding_fills_in_what_was_seen_also_inside_alternatives():
    condition = AnyOf((Missing("start_by"), After("start_by", Seen("now")), NotAfter("due_key", Seen("due_key"))))

    assert bind(condition, {"now": "n", "due_key": "d"}) == AnyOf(
        (Missing("start_by"), After("start_by", "n"), NotAfter("due_key", "d"))
    )
    with pytest.raises(KeyError):
        bind(condition, {"now": "n"})
