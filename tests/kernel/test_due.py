"""The due index: which lane an item waits in, and where in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.keys import LATEST, Due, Priority, due_until, position_at, run_lane
from leasehold.kernel.lanes import SERVICE_LANE, is_hold_lane, lanes_by_priority
from leasehold.limits.lanes import hold_lane
from leasehold.operate.order import keys_beside
from tests.strategies import dues, instants, job_ids, positions

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@given(dues, dues)
def test_due_keys_sort_by_time_then_position_then_id(one, other):
    places = [(each.at, each.position, each.item_id) for each in (one, other)]

    if places[0] != places[1]:  # else they are of the same job, which stands in the index once
        assert (one.key < other.key) == (places[0] < places[1])


@given(instants, instants)
def test_positions_sort_like_the_times_they_were_made_at(one, other):
    assert (position_at(one) < position_at(other)) == (one < other)
    assert len(position_at(one)) == 9


@given(dues)
def test_a_due_key_gives_back_what_it_was_made_from(due):
    assert Due.parse(due.key) == due


@given(dues, instants)
def test_what_comes_after_a_debt_is_what_was_due_before_it_with_its_attempt(due, now):
    owing = Due.parse(due.owing_since(now).key)

    assert (owing.at, owing.attempt, owing.afterwards) == (now, due.attempt, due)
    assert due.afterwards is None


def test_a_scope_keeps_its_own_separators():
    due = Due(NOW, position_at(NOW), "type:daily_summary")

    assert Due.parse(due.key).item_id == "type:daily_summary"


@given(dues, instants)
def test_all_that_is_due_by_now_sorts_up_to_the_bound_and_nothing_later(due, now):
    assert (due.key <= due_until(now)) == (due.at <= now)


def test_the_greatest_position_is_still_within_the_bound():
    assert Due(NOW, position_at(LATEST), "zzzz").key <= due_until(NOW)


@given(dues, positions, job_ids, st.booleans())
def test_the_keys_before_and_after_a_place_are_those_of_the_same_time_with_another_position(
    due, position, item_id, is_simultaneous
):
    at = due.at if is_simultaneous else due.at - timedelta(milliseconds=1)
    key = Due(at, position, item_id).key
    (first_before, last_before), (first_after, last_after) = (
        keys_beside(due, is_before=each) for each in (True, False)
    )

    assert (first_before <= key <= last_before) == (is_simultaneous and position < due.position)
    assert (first_after <= key <= last_after) == (is_simultaneous and position > due.position)


def test_moving_an_entry_keeps_its_place_among_equals():
    due = Due(NOW, position_at(NOW), "x")
    moved = due._replace(at=NOW + timedelta(minutes=1))

    assert (moved.position, moved.item_id) == (due.position, due.item_id)
    assert moved.key != due.key


def test_polls_visit_the_highest_priority_first_on_every_shard():
    assert lanes_by_priority(2) == [["3#0", "3#1"], ["2#0", "2#1"], ["1#0", "1#1"], ["0#0", "0#1"]]


def test_scopes_wait_where_polls_look_first():
    assert lanes_by_priority(1)[0][0] == SERVICE_LANE == run_lane(Priority.CRITICAL, 0)


def test_only_hold_lanes_are_hold_lanes():
    assert is_hold_lane(hold_lane("type:x", 1))
    assert not any(is_hold_lane(lane) for level in lanes_by_priority(3) for lane in level)
