"""A waiting job is moved directly before or after another one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, Priority
from tests.contract.line import Line

if TYPE_CHECKING:
    from tests.contract.world import World


@pytest.fixture
def line(world: World) -> Line:
    return Line(world)


@pytest.mark.parametrize(
    ("place", "order"),
    [({"before": "a"}, "dabc"), ({"before": "b"}, "adbc"), ({"after": "b"}, "abdc"), ({"after": "c"}, "abcd")],
    ids=str,
)
def test_a_moved_job_runs_directly_before_or_after_another(line: Line, place: dict[str, str], order: str) -> None:
    line.enqueue("abcd")

    moved = line.move("d", **place)

    assert moved == line.job("d")
    assert line.claimed() == order


@pytest.mark.parametrize("place", [{"before": "c"}, {"after": "b"}], ids=str)
def test_jobs_that_are_due_at_the_same_moment_make_room_for_a_moved_one(line: Line, place: dict[str, str]) -> None:
    at = line.world.clock.now() + timedelta(hours=1)
    line.enqueue("abcd", apart=timedelta(milliseconds=1), run_at=at)
    line.enqueue("x")

    line.move("x", **place)
    line.enqueue("z", run_at=at)

    line.world.clock.move_to(at)
    assert line.claimed() == "abxcdz"


def test_what_is_made_later_for_the_same_moment_runs_after_what_was_moved_to_the_end(line: Line) -> None:
    at = line.world.clock.now() + timedelta(hours=1)
    line.enqueue("ax", run_at=at)

    line.move("a", after="x")
    line.enqueue("b", run_at=at)

    line.world.clock.move_to(at)
    assert line.claimed() == "xab"


def test_jobs_of_one_moment_and_one_millisecond_of_creation_cannot_be_separated_and_are_passed_by_together(
    line: Line,
) -> None:
    line.enqueue("abc", apart=timedelta(0))
    line.enqueue("yz")
    together = "".join(sorted("abc", key=lambda name: line.ids[name]))

    line.move("y", before=together[2])
    line.move("z", after=together[0])

    assert line.claimed() == f"y{together}z"


def test_a_moved_job_takes_over_priority_and_time_and_keeps_its_id_and_its_scheduled_time(line: Line) -> None:
    line.enqueue("x", run_in=timedelta(hours=5))
    line.enqueue("a", priority=Priority.HIGH, run_in=timedelta(hours=1))
    before, anchor = line.job("x"), line.job("a")

    moved = line.move("x", before="a")

    assert (moved.priority, moved.due_at, moved.due_lane) == (Priority.HIGH, anchor.due_at, anchor.due_lane)
    assert (moved.job_id, moved.scheduled_for, moved.status) == (before.job_id, before.scheduled_for, JobStatus.PENDING)
    assert not moved.wake
    assert line.claimed() == ""
    line.world.clock.advance(timedelta(hours=1))
    assert line.claimed() == "xa"


def test_a_job_that_is_moved_to_where_it_is_due_wakes_a_poller(line: Line) -> None:
    line.enqueue("a")
    line.enqueue("x", run_in=timedelta(hours=5))
    assert not line.job("x").wake

    assert line.move("x", before="a").wake


def test_a_job_that_waits_for_its_retry_can_be_moved_and_be_moved_next_to(line: Line) -> None:
    line.enqueue("a")
    line.world.script.then(RuntimeError("not this time"))
    line.world.work()
    assert line.job("a").status is JobStatus.FAILED
    line.enqueue("bc", run_in=timedelta(hours=1))

    line.move("b", before="a")
    line.move("a", after="c")

    assert line.claimed() == "b"
    line.world.clock.advance(timedelta(hours=1))
    assert line.claimed() == "ca"
    assert line.job("a").attempts == 1


@pytest.mark.parametrize(
    ("place", "order"), [("before the same", "abcdez"), ("after the same", "aedcbz"), ("after the last", "abcdez")]
)
def test_many_moves_to_the_same_place_keep_the_order_in_which_they_were_made(
    line: Line, place: str, order: str
) -> None:
    line.enqueue("ez", apart=timedelta(milliseconds=1), run_in=timedelta(hours=1))
    line.enqueue("abcd", run_in=timedelta(hours=2))
    line.move("a", before="e")

    for last, name in zip("abcd", "bcde", strict=True):
        match place:
            case "before the same":
                line.move(name, before="z")
            case "after the same":
                line.move(name, after="a")
            case _:
                line.move(name, after=last)

    line.world.clock.advance(timedelta(hours=2))
    assert line.claimed() == order


def test_a_job_that_is_moved_away_and_back_does_not_get_its_old_due_key_again(line: Line) -> None:
    line.enqueue("axb", apart=timedelta(milliseconds=1), run_in=timedelta(hours=1))
    keys = []
    for place in ({"before": "b"}, {"after": "b"}, {"before": "b"}, {"before": "b"}):
        moved = line.move("x", **place)
        assert moved.due is not None
        keys.append(moved.due.key)

    assert len(set(keys)) == len(keys)
    line.world.clock.advance(timedelta(hours=1))
    assert line.claimed() == "axb"


def test_swapping_two_jobs_over_and_over_keeps_their_due_keys_short_and_unlike_each_other(line: Line) -> None:
    line.enqueue("oxyz", apart=timedelta(milliseconds=1), run_in=timedelta(hours=1))
    seen = set()
    for _ in range(20):
        for first, second in ("yx", "xy"):
            moved = line.move(first, before=second)
            assert moved.due is not None
            seen.add(moved.due.key)
            assert len(moved.due.position) <= 24

    assert len(seen) == 40
    line.world.clock.advance(timedelta(hours=1))
    assert line.claimed() == "oxyz"
