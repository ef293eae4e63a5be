"""The queue in dispatch order: who is next, which position a job has, and how it gets another."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import Priority
from leasehold.admin.reading import Reader
from leasehold.kernel.errors import InvalidOptionError, WrongStateError
from leasehold.telemetry import Event
from tests.contract.line import Line

if TYPE_CHECKING:
    from tests.contract.world import World


@pytest.fixture
def line(world: World) -> Line:
    return Line(world)


def listed(line: Line, **options: object) -> str:
    """The names in the order of the listing."""
    names = {job_id: name for name, job_id in line.ids.items()}
    shown: Any = Reader(line.world.services).queue(**options)  # type: ignore[arg-type]
    return "".join(names[each["job_id"]] for each in shown["items"])


def test_the_queue_is_listed_in_the_order_in_which_its_jobs_are_claimed(line: Line) -> None:
    line.enqueue("abc")
    line.enqueue("x", priority=Priority.HIGH)
    line.enqueue("z", run_in=timedelta(days=1))
    line.move("c", before="a")

    assert listed(line) == "xcab"
    assert [line.world.queue.position(line.ids[name]) for name in "xcabz"] == [1, 2, 3, 4, None]
    assert line.claimed() == "xcab"
    assert listed(line) == ""


def test_a_page_of_the_queue_begins_where_it_is_asked_to(line: Line) -> None:
    line.enqueue("abcd")
    reader = Reader(line.world.services)

    assert (listed(line, first=2, limit=2), reader.queue(first=2, limit=2)["is_complete"]) == ("bc", False)
    rest: Any = reader.queue(first=3, limit=2)
    assert rest["is_complete"]
    assert [each["position"] for each in rest["items"]] == [3, 4]


@pytest.mark.parametrize(
    ("name", "position", "order"),
    [("d", 1, "dabc"), ("d", 2, "adbc"), ("a", 3, "bcad"), ("a", 4, "bcda"), ("b", 99, "acdb"), ("b", 2, "abcd")],
)
def test_a_job_is_moved_to_a_position(line: Line, name: str, position: int, order: str) -> None:
    line.enqueue("abcd")

    line.world.queue.move(line.ids[name], position=position)

    assert listed(line) == order
    assert line.claimed() == order


def test_a_job_that_is_due_later_is_due_when_it_is_given_a_position(line: Line) -> None:
    line.enqueue("z", run_in=timedelta(days=1))
    line.world.queue.move(line.ids["z"], position=1)
    assert line.world.queue.position(line.ids["z"]) == 1
    line.world.clock.advance(timedelta(minutes=1))

    line.enqueue("ab")
    line.enqueue("y", run_in=timedelta(days=1))
    line.world.queue.move(line.ids["y"], position=3)

    assert line.claimed() == "zayb"


def test_jobs_that_a_limit_holds_back_have_an_order_of_their_own(line: Line) -> None:
    line.enqueue("abcde", "limited")
    assert line.claimed() == "ab"

    assert (listed(line), listed(line, held_by="limited")) == ("", "cde")
    line.world.queue.move(line.ids["e"], position=1)
    assert listed(line, held_by="limited") == "ecd"
    assert line.world.queue.position(line.ids["c"]) == 2


def test_a_move_to_a_position_is_on_record_and_a_job_that_is_there_already_leaves_none(line: Line) -> None:
    line.enqueue("ab")
    for _ in range(2):
        line.world.queue.move(line.ids["b"], position=1, reason="the customer waits")

    trail = line.world.store.audits.trail(f"job#{line.ids['b']}")
    assert [(each.audit_entry.action, each.audit_entry.reason) for each in trail] == [("move", "the customer waits")]


@pytest.mark.parametrize("position", [0, -1, 1001, True, "first"])
def test_a_position_that_there_is_not_is_refused(line: Line, position: object) -> None:
    line.enqueue("ab")

    with pytest.raises(InvalidOptionError, match="a place in the queue is a whole number from 1 to 1000"):
        line.world.queue.move(line.ids["b"], position=position)  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match="one place"):
        line.world.queue.move(line.ids["b"], position=1, before=line.ids["a"])
    assert listed(line) == "ab"


def test_a_job_that_runs_has_no_position_and_gets_none(line: Line) -> None:
    line.enqueue("a")
    assert line.claimed() == "a"

    assert line.world.queue.position(line.ids["a"]) is None
    with pytest.raises(WrongStateError):
        line.world.queue.move(line.ids["a"], position=1)


def test_whoever_had_the_position_may_be_dispatched_meanwhile(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.enqueue("abc")
    due, world = line.world.store.jobs.due, line.world
    claimed: list[str] = []

    def overtaken(*arguments: object, **options: object) -> object:
        page = due(*arguments, **options)  # type: ignore[arg-type]
        if not claimed and any(getattr(each, "job_id", None) == line.ids["a"] for each in page.entries):
            claimed.append("a")
            world.queue.cancel(line.ids["a"], reason="gone")
        return page

    monkeypatch.setattr(world.store.jobs, "due", overtaken)
    world.queue.move(line.ids["c"], position=1)

    assert claimed == ["a"]
    assert line.claimed() == "cb"
    assert world.recorder.of(Event.ENTRY_FAILED) == []
