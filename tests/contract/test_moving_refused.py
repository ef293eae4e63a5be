"""What cannot be moved is told why and stays as it is; who is faster than a move wins."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus, Priority, Registry
from leasehold.kernel import keys
from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError, JobNotFoundError, WrongStateError
from leasehold.kernel.keys import JobPartition, make_job_id, partition_of
from leasehold.kernel.table import Update
from leasehold.limits.lanes import hold_lane
from leasehold.limits.model import group_scope
from leasehold.operate.order import MAX_POSITION_LENGTH, NoCommonOrderError, NoPlaceLeftError
from tests.contract.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold import Job
    from tests.contract.world import World


@pytest.fixture
def line(world: World) -> Line:
    return Line(world)


def _changed(job: Job, **values: str) -> Update:
    return Update(key=keys.job(job.job_id), conditions=(), sets=values)


def unchanged_by(line: Line, attempt: Callable[[], object], error: type[Exception], words: str) -> None:
    before = {name: line.job(name) for name in line.ids}
    with pytest.raises(error, match=words):
        attempt()
    assert {name: line.job(name) for name in line.ids} == before


def test_a_move_needs_one_of_before_and_after(line: Line) -> None:
    line.enqueue("abc")

    unchanged_by(line, lambda: line.move("c"), InvalidOptionError, "either before or after")
    unchanged_by(line, lambda: line.move("c", before="a", after="b"), InvalidOptionError, "either before or after")


def test_a_job_is_not_moved_next_to_itself_nor_next_to_nothing(line: Line) -> None:
    line.enqueue("a")
    nobody = make_job_id(line.world.clock.now(), JobPartition(1), 7)
    move = line.world.queue.move

    unchanged_by(line, lambda: line.move("a", before="a"), InvalidOptionError, "next to itself")
    unchanged_by(line, lambda: move(line.ids["a"], before=nobody), JobNotFoundError, nobody)
    unchanged_by(line, lambda: move(nobody, before=line.ids["a"]), JobNotFoundError, nobody)
    unchanged_by(line, lambda: move(line.ids["a"], before="soon"), InvalidJobIdError, "'soon'")
    unchanged_by(line, lambda: move("soon", after=line.ids["a"]), InvalidJobIdError, "'soon'")


def test_only_waiting_jobs_are_moved_and_moved_next_to(line: Line) -> None:
    line.enqueue("ab")
    line.world.claim()
    line.enqueue("c")

    unchanged_by(
        line, lambda: line.move("a", before="c"), WrongStateError, f"cannot move job {line.ids['a']}: it is in_"
    )
    unchanged_by(line, lambda: line.move("c", before="a"), WrongStateError, f"next to job {line.ids['a']}: it is in_")


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_member_that_waits_for_its_group_is_not_moved_nor_rescheduled_and_no_job_next_to_it(
    line: Line, mode: str
) -> None:
    line.enqueue("ab")
    lane = {"due_lane": hold_lane(group_scope("g"), Priority.NORMAL)} if mode == "parallel" else {}
    waits = Update(
        key=keys.job(line.job("a").job_id),
        conditions=(),
        sets={"group_id": "g", "member": 3, **lane},
        removes=frozenset() if lane else frozenset({"due_lane"}),
    )
    line.world.table.write(waits)

    words = "it is waiting for its turn. Group 'g' decides"
    unchanged_by(line, lambda: line.move("a", after="b"), WrongStateError, words)
    unchanged_by(line, lambda: line.move("b", before="a"), WrongStateError, words)
    unchanged_by(line, lambda: line.world.queue.reschedule(line.ids["a"]), WrongStateError, words)
    line.world.queue.reprioritise(line.ids["a"], Priority.HIGH)
    assert line.claimed() == "b"


def test_jobs_of_different_shards_have_no_common_order_and_the_error_says_so(line: Line) -> None:
    line.world.operator.publish(Registry(types=line.world.types, shards=2))
    line.enqueue("abcdefgh")
    first = line.ids["a"]
    shards = partition_of(first).shard, 1 - partition_of(first).shard  # type: ignore[arg-type]
    other = next(name for name in "bcdefgh" if partition_of(line.ids[name]).shard != shards[0])  # type: ignore[arg-type]

    words = f"no common order: they are on the shards {shards[0]} and {shards[1]}"
    unchanged_by(line, lambda: line.move("a", after=other), NoCommonOrderError, words)


def test_a_job_whose_neighbours_are_as_close_as_can_be_is_not_moved_there(line: Line) -> None:
    line.enqueue("ax", run_in=timedelta(hours=1))
    job = line.job("a")
    assert job.due is not None
    packed = job.due._replace(position="a" * MAX_POSITION_LENGTH)
    line.world.table.write(_changed(job, due_key=packed.key))
    line.enqueue("b", run_at=job.due_at)
    line.world.table.write(_changed(line.job("b"), due_key=packed._replace(position=f"{packed.position}1").key))

    with pytest.raises(NoPlaceLeftError, match=r"no place left next to job .*Reschedule that job"):
        line.move("x", after="a")

    line.world.queue.reschedule(line.ids["a"])
    line.move("x", after="a")
    assert line.claimed() == "ax"


def test_a_job_that_is_claimed_while_it_is_moved_runs_once_and_the_mover_is_told(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.enqueue("ab")
    audits = line.world.store.audits
    commit = audits.commit

    def claim_first(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(audits, "commit", commit)
        assert line.claimed() == "ab"
        return commit(*args, **options)

    monkeypatch.setattr(audits, "commit", claim_first)

    with pytest.raises(WrongStateError, match="it is in_progress"):
        line.move("b", before="a")


def test_a_job_that_is_held_while_it_is_moved_is_moved_where_it_is_held(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.enqueue("abc", "email")
    line.world.operator.pause("email", reason="provider is down")
    audits = line.world.store.audits
    commit = audits.commit

    def hold_first(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(audits, "commit", commit)
        assert line.world.poll().held == 3
        return commit(*args, **options)

    monkeypatch.setattr(audits, "commit", hold_first)

    assert line.move("c", before="a").is_held

    line.world.operator.unpause("email")
    assert line.claimed() == "cab"


@pytest.mark.parametrize("claimed_meanwhile", [False, True])
def test_a_move_whose_response_was_lost_is_recognised_even_if_the_job_was_claimed_since(
    line: Line, claimed_meanwhile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.enqueue("ab")
    audits = line.world.store.audits
    commit = audits.commit
    tries: list[bool] = []

    def answer_only_the_retry(*args: Any, **options: Any) -> bool:
        tries.append(commit(*args, **options))
        if claimed_meanwhile:
            assert line.claimed() == "ba"
        return commit(*args, **options)

    monkeypatch.setattr(audits, "commit", answer_only_the_retry)

    moved = line.move("b", before="a")

    assert len(tries) == 1
    assert moved == line.job("b")
    assert (moved.status is JobStatus.IN_PROGRESS) == claimed_meanwhile
