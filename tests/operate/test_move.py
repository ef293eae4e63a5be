"""Many moves, against a list that is changed in the same way."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.kernel.enqueue import Enqueued, NewJob
from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Priority, run_lane
from leasehold.testing import LeaseholdTest

LANE = run_lane(Priority.NORMAL, 0)


def enqueued(test: LeaseholdTest, count: int) -> list[str]:
    at = test.clock.now() + timedelta(hours=1)
    results = test.queue.enqueue_many(NewJob(job="report", run_at=at) for _ in range(count))
    return [each.job_id for each in results if isinstance(each, Enqueued)]


def in_order(test: LeaseholdTest) -> list[str]:
    now = test.clock.now() + timedelta(hours=1)
    page = test.services.store.jobs.due(LANE, now, limit=10_000)
    return [entry.job_id for entry in page.entries if isinstance(entry, DueJob)]


def longest_position(test: LeaseholdTest) -> int:
    return max(len(job.due.position) for job in test.jobs() if job.due)


@pytest.fixture
def test() -> LeaseholdTest:
    return LeaseholdTest(types=[JobType(name="report")])


@pytest.mark.parametrize("place", ["before the same", "after the same", "after the last"])
def test_a_thousand_jobs_moved_to_the_same_place_are_in_order_and_their_positions_short(place, test):
    first, second, *others = enqueued(test, 1_002)
    last = first
    for job_id in others:
        match place:
            case "before the same":
                test.queue.move(job_id, before=second)
            case "after the same":
                test.queue.move(job_id, after=first)
            case _:
                test.queue.move(job_id, after=last)
        last = job_id

    assert in_order(test) == [first, *(others[::-1] if place == "after the same" else others), second]
    print(f"\n{place}: {longest_position(test)} digits")
    assert longest_position(test) <= 36


def test_a_job_that_is_moved_to_the_same_place_over_and_over_is_not_in_its_own_way(test):
    first, second, moved = enqueued(test, 3)
    lengths = set()
    for _ in range(300):
        test.queue.move(moved, before=second)
        lengths.add(longest_position(test))

    assert in_order(test) == [first, moved, second]
    assert len(lengths) == 1


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.booleans()), max_size=150))
def test_any_moves_leave_the_jobs_in_the_order_of_a_list_that_was_changed_alike(moves):
    test = LeaseholdTest(types=[JobType(name="report")])
    jobs = enqueued(test, 20)
    expected = list(jobs)
    for number, other, is_before in moves:
        if number == other:
            continue
        moved, anchor = jobs[number], jobs[other]
        test.queue.move(moved, **{"before" if is_before else "after": anchor})
        expected.remove(moved)
        expected.insert(expected.index(anchor) + (not is_before), moved)

    assert in_order(test) == expected
