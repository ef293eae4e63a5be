"""assert_enqueued and refute_enqueued: what they match, and what they say when they fail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leasehold.kernel.keys import Priority
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

TOMORROW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def world() -> LeaseholdTest:
    made = LeaseholdTest({"greet": handler_that(lambda _context: None), "other": handler_that(lambda _context: None)})
    made.queue.enqueue("greet", {"name": "Ada", "times": 2}, run_at=TOMORROW, priority=Priority.HIGH)
    return made


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"payload": {"name": "Ada"}},
        {"payload": {"name": "Ada", "times": 2}},
        {"run_at": TOMORROW},
        {"priority": Priority.HIGH, "created_by": "system"},
        {"payload": {"times": 2}, "run_at": TOMORROW, "priority": Priority.HIGH},
    ],
)
def test_a_part_of_what_waits_is_enough(world, wanted):
    assert world.assert_enqueued("greet", **wanted).payload == {"name": "Ada", "times": 2}
    with pytest.raises(AssertionError, match=r"greet job [0-9a-f-]{36} waits with \{'name': 'Ada', 'times': 2\}"):
        world.refute_enqueued("greet", **wanted)


@pytest.mark.parametrize(
    ("job_type", "wanted"),
    [
        ("other", {}),
        ("greet", {"payload": {"name": "Grace"}}),
        ("greet", {"payload": {"surname": None}}),
        ("greet", {"run_at": TOMORROW + timedelta(milliseconds=1)}),
        ("greet", {"priority": Priority.LOW}),
    ],
)
def test_what_does_not_match_is_not_enqueued(world, job_type, wanted):
    world.refute_enqueued(job_type, **wanted)
    with pytest.raises(AssertionError, match=f"no waiting {job_type} job with"):
        world.assert_enqueued(job_type, **wanted)


def test_the_failure_says_what_waits_instead(world):
    with pytest.raises(AssertionError) as failed:
        world.assert_enqueued("greet", {"name": "Grace"})

    assert str(failed.value) == (
        "no waiting greet job with {'name': 'Grace'}, None, {}. Waiting are:\n"
        "  greet {'name': 'Ada', 'times': 2} at 2026-01-02 00:00:00+00:00"
    )


def test_the_failure_says_when_nothing_waits_at_all(world):
    with pytest.raises(AssertionError, match=r"Waiting are:\n  none$"):
        world.assert_enqueued("other")


def test_a_job_that_has_run_waits_no_more(world):
    world.drain(until_idle=True)

    world.refute_enqueued("greet")
    with pytest.raises(AssertionError):
        world.assert_enqueued("greet")


def test_a_payload_that_is_no_object_matches_no_part(world):
    world.register("list", None)
    world.queue.enqueue("list", [1, 2])

    world.assert_enqueued("list")
    world.refute_enqueued("list", {"name": "Ada"})
