"""A write whose response was lost is recognised when it is repeated, and takes effect once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.kernel import keys, partitions
from leasehold.kernel.dead_letter import dead_letter_for, dead_letter_insertion
from leasehold.kernel.end import Failure
from leasehold.kernel.jobs import Jobs
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import Put
from leasehold.kernel.transitions import DEAD_LETTER, EXTEND, TRANSITIONS, Transition
from tests.contract.transition_cases import JOB_ID, LATER, NOW, RUN, due_of, satisfying, write_of

if TYPE_CHECKING:
    from leasehold.kernel.table import Record, Table

SIGNED = [each for each in TRANSITIONS if each.signature is not None]
# The owner of a lease may extend it as often as it likes: another extension of its own is no rival's write.
CONTESTED = [each for each in SIGNED if each is not EXTEND]
RIVALS: dict[str, object] = {
    "locked_by": "nonce-of-another-write",
    "due_key": due_of(LATER.replace(second=1)),
    "runs": (RUN, RUN),
    "last_error": "another reaper's words",
    "completed_at": LATER.replace(second=1),
}

each_signed = pytest.mark.parametrize("transition", SIGNED, ids=lambda each: each.name)
each_contested = pytest.mark.parametrize("transition", CONTESTED, ids=lambda each: each.name)


def put_source(table: Table, transition: Transition) -> Record:
    status = sorted(transition.sources)[0]
    record = next(satisfying(transition, status))
    table.write(Put(key=keys.job(JOB_ID), record=record))
    return record


def test_every_transition_that_counts_something_recognises_its_own_write() -> None:
    assert {each.name for each in TRANSITIONS if each.adds} <= {each.name for each in SIGNED}
    assert {each.name for each in SIGNED} == {
        "claim",
        "release",
        "start",
        "extend",
        "complete",
        "fail",
        "dead_letter",
        "snooze",
        "abort",
        "expire",
        "reap_unstarted",
        "reap_failed",
        "reap_dead",
        "reap_cancelled",
        "skip",
        "turn_away",
    }


@each_signed
def test_a_repeated_write_succeeds_and_takes_effect_once(table: Table, transition: Transition) -> None:
    before = put_source(table, transition)
    write = write_of(transition)

    first = Jobs(table).apply_and_read(write)
    stored = table.get(keys.job(JOB_ID))
    second = Jobs(table).apply_and_read(write)

    assert second == first
    assert table.get(keys.job(JOB_ID)) == stored
    added = dict(transition.adds)
    assert first.attempts == int(str(before["attempts"])) + added.get("attempts", 0)


@each_contested
def test_the_write_of_a_rival_is_not_taken_for_ones_own(table: Table, transition: Transition) -> None:
    put_source(table, transition)
    assert transition.signature is not None
    Jobs(table).apply_and_read(write_of(transition))
    stored = table.get(keys.job(JOB_ID))
    late = write_of(transition, **{transition.signature: RIVALS[transition.signature]})

    with pytest.raises(TransitionRefused) as refused:
        Jobs(table).apply_and_read(late)

    assert refused.value.current is not None
    assert table.get(keys.job(JOB_ID)) == stored


def test_a_repeated_burial_succeeds_and_leaves_one_dead_letter(table: Table) -> None:
    put_source(table, DEAD_LETTER)
    job = Jobs(table).get(JOB_ID)
    assert job is not None
    dead_letter = dead_letter_for(job, Failure(error="boom", code="boom"), NOW, (RUN,))
    write = write_of(DEAD_LETTER)

    Jobs(table).apply_with(write, [dead_letter_insertion(dead_letter)], token="burial")
    stored = table.get(keys.job(JOB_ID)), table.get(partitions.dead_letter(JOB_ID))
    # Another token, as if the ten minutes of the first were over: now only the signature can tell.
    Jobs(table).apply_with(write, [dead_letter_insertion(dead_letter)], token="burial-again")

    assert (table.get(keys.job(JOB_ID)), table.get(partitions.dead_letter(JOB_ID))) == stored
    assert stored[1] is not None


def test_a_burial_that_is_refused_leaves_no_dead_letter(table: Table) -> None:
    record = {**next(satisfying(DEAD_LETTER, sorted(DEAD_LETTER.sources)[0])), "locked_by": "somebody else"}
    table.write(Put(key=keys.job(JOB_ID), record=record))
    job = Jobs(table).get(JOB_ID)
    assert job is not None
    dead_letter = dead_letter_for(job, Failure(error="boom", code="boom"), NOW, (RUN,))

    with pytest.raises(TransitionRefused):
        Jobs(table).apply_with(write_of(DEAD_LETTER), [dead_letter_insertion(dead_letter)], token="burial-refused")

    assert table.get(partitions.dead_letter(JOB_ID)) is None
    assert table.get(keys.job(JOB_ID)) == {**keys.job(JOB_ID).attributes, **record}
