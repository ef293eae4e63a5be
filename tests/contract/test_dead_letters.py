"""Dead letters: listed by type and date, redriven as new jobs or discarded, each resolved once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus
from leasehold.kernel.errors import JobNotFoundError, SystemHaltedError, WrongStateError
from leasehold.kernel.keys import JobPartition, make_job_id

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold import DeadLetter
    from tests.contract.world import World


def bury(world: World, job_type: str = "once", payload: dict[str, object] | None = None) -> str:
    """Let a job die, and an hour pass; returns its id."""
    job_id = world.queue.enqueue(job_type, payload, max_attempts=1).job_id  # type: ignore[arg-type]
    world.script.then(RuntimeError("broken"))
    assert world.work() == ["dead_letter"]
    world.clock.advance(timedelta(hours=1))
    return job_id


def listed(
    world: World, job_type: str | None = None, start: datetime | None = None, end: datetime | None = None
) -> list[str]:
    dead_letters: list[DeadLetter] = list(world.operator.dead_letters(job_type=job_type, start=start, end=end))
    return [dead_letter.id for dead_letter in dead_letters]


def test_open_dead_letters_are_listed_by_date_and_type(world: World) -> None:
    noon = world.clock.now()
    first, second, third = bury(world), bury(world, "email"), bury(world)

    assert listed(world) == [first, second, third]
    assert listed(world, "once") == [first, third]
    assert listed(world, "report") == []
    assert listed(world, start=noon + timedelta(minutes=30)) == [second, third]
    assert listed(world, "once", end=noon + timedelta(minutes=30)) == [first]


def test_a_range_of_dates_includes_its_start_and_not_its_end(world: World) -> None:
    noon = world.clock.now()
    first, _ = bury(world), bury(world)

    assert listed(world, start=noon, end=noon + timedelta(hours=1)) == [first]


def test_more_dead_letters_than_fit_on_a_page_are_all_listed(world: World) -> None:
    for _ in range(28):
        world.queue.enqueue("once")
        world.script.then(RuntimeError("broken"))
    assert world.work() == ["dead_letter"] * 28

    assert len(listed(world)) == 28


def test_the_depth_and_the_age_of_the_oldest_are_known(world: World) -> None:
    died_at = world.clock.now()
    first = bury(world)
    bury(world, "email")

    backlog = world.operator.backlog()
    assert (backlog.dead_letters, backlog.oldest_dead_letter) == (2, died_at)

    world.operator.discard(first, reason="known")
    backlog = world.operator.backlog()
    assert (backlog.dead_letters, backlog.oldest_dead_letter) == (1, died_at + timedelta(hours=1))


def test_a_redrive_makes_a_new_job_that_says_what_it_is_a_retry_of(world: World) -> None:
    dead = bury(world, payload={"n": 5})

    redriven = world.operator.redrive(dead, reason="fixed")

    assert redriven.job_id is not None
    job = world.job(redriven.job_id)
    assert (job.retry_of, job.payload, job.created_by, job.status) == (dead, {"n": 5}, "ada", JobStatus.PENDING)
    dead_letter = world.operator.dead_letter(dead)
    assert (dead_letter.resolution, dead_letter.resolved_by, dead_letter.resolved_reason) == (
        "redriven",
        "ada",
        "fixed",
    )
    assert (dead_letter.redriven_as, dead_letter.resolved_at) == (redriven.job_id, world.clock.now())
    assert listed(world) == []
    assert world.work() == ["completed"]
    assert world.status(dead) is JobStatus.DEAD_LETTER


def test_a_second_redrive_is_told_of_the_first_and_makes_no_job(world: World) -> None:
    dead = bury(world)
    first = world.operator.redrive(dead, reason="fixed")

    second = world.operator.redrive(dead, reason="fixed")

    assert (first.created, second.created) == (True, False)
    assert second.job_id == first.job_id
    assert world.work() == ["completed"]


def test_many_dead_letters_are_redriven_by_type_and_date_with_progress(world: World) -> None:
    noon = world.clock.now()
    first, other, third, fourth = bury(world), bury(world, "email"), bury(world), bury(world)
    done: list[int] = []

    redriven = world.operator.redrive_many(
        reason="fixed", job_type="once", end=noon + timedelta(hours=3), progress=done.append
    )

    assert [each.dead_letter_id for each in redriven] == [first, third]
    assert all(each.error is None for each in redriven)
    assert done == [1, 2]
    assert listed(world) == [other, fourth]


def test_no_more_dead_letters_are_redriven_than_asked_for(world: World) -> None:
    dead_letters = [bury(world) for _ in range(3)]

    assert len(world.operator.redrive_many(reason="fixed", limit=2)) == 2
    assert listed(world) == dead_letters[2:]


def test_a_discarded_dead_letter_is_resolved_and_its_job_may_expire(world: World) -> None:
    dead = bury(world)
    assert world.job(dead).expires_at is None

    dead_letter = world.operator.discard(dead, reason="known")

    assert (dead_letter.resolution, dead_letter.resolved_by, dead_letter.resolved_reason) == (
        "discarded",
        "ada",
        "known",
    )
    assert listed(world) == []
    assert world.job(dead).expires_at == int((world.clock.now() + timedelta(days=30)).timestamp())


def test_a_discarded_dead_letter_is_neither_redriven_nor_discarded_again(world: World) -> None:
    dead = bury(world)
    world.operator.discard(dead, reason="known")

    with pytest.raises(WrongStateError):
        world.operator.redrive(dead, reason="changed my mind")
    with pytest.raises(WrongStateError):
        world.operator.discard(dead, reason="again")

    assert world.work() == []


def test_a_redriven_dead_letter_is_not_discarded(world: World) -> None:
    dead = bury(world)
    world.operator.redrive(dead, reason="fixed")

    with pytest.raises(WrongStateError):
        world.operator.discard(dead, reason="too late")

    assert world.operator.dead_letter(dead).resolution == "redriven"


def test_nothing_is_redriven_while_the_system_is_halted(world: World) -> None:
    dead = bury(world)
    world.operator.halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError):
        world.operator.redrive(dead, reason="fixed")

    assert listed(world) == [dead]


def test_a_dead_letter_that_does_not_exist_is_named_as_such(world: World) -> None:
    with pytest.raises(JobNotFoundError, match="dead letter"):
        world.operator.redrive(make_job_id(world.clock.now(), JobPartition(1), 1), reason="fixed")
