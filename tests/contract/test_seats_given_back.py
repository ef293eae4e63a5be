"""A seat is free again as soon as nobody can run in it, whoever was faster."""

from __future__ import annotations

from dataclasses import replace as evolve
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType
from leasehold.kernel.type_options import type_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.world import World

ONE_AT_A_TIME = JobType(name="limited", concurrency=1, timeout=timedelta(minutes=15))


def taken(world: World) -> list[int]:
    return sorted(world.store.lines.scope(type_scope("limited")).seats)


def racing_with_a_claim(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a job next is overtaken by a poller that claims it."""
    get = world.store.jobs.get

    def read_and_be_overtaken(job_id: object) -> object:
        found = get(job_id)  # type: ignore[arg-type]
        monkeypatch.setattr(world.store.jobs, "get", get)
        world.poll()
        return found

    monkeypatch.setattr(world.store.jobs, "get", read_and_be_overtaken)


def cancel(world: World, job_id: str) -> None:
    assert world.queue.cancel(job_id, reason="not needed").job_ended


def replace(world: World, job_id: str) -> None:
    world.queue.enqueue("limited", dedup_key="one", on_duplicate="replace")
    # It was claimed first: then it runs, and nothing takes its place.
    assert world.status(job_id) is JobStatus.IN_PROGRESS
    world.queue.cancel(job_id, reason="not needed")


@pytest.mark.parametrize("how", [cancel, replace])
def test_a_job_that_is_claimed_while_it_is_cancelled_or_replaced_leaves_no_seat_behind(
    world: World, monkeypatch: pytest.MonkeyPatch, how: Callable[[World, str], None]
) -> None:
    world.deploy(ONE_AT_A_TIME)
    job_id = world.queue.enqueue("limited", dedup_key="one").job_id
    racing_with_a_claim(world, monkeypatch)

    how(world, job_id)

    assert (world.status(job_id), taken(world)) == (JobStatus.CANCELLED, [])
    world.dispatches.handovers.clear()
    other = world.queue.enqueue("limited").job_id
    assert world.work() == ["completed"]
    assert world.status(other) is JobStatus.COMPLETED


def test_a_hand_over_that_never_arrived_gives_its_seat_back_when_its_lease_ends(world: World) -> None:
    """Not when the longest run would have ended, which is a quarter of an hour later."""
    world.deploy(evolve(ONE_AT_A_TIME, heartbeat=True, lease=timedelta(seconds=35)))
    job_id = world.queue.enqueue("limited").job_id
    world.claim()
    assert taken(world) == [0]
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    assert (world.status(job_id), taken(world)) == (JobStatus.PENDING, [])


def test_the_time_of_the_last_attempt_is_right_on_jobs_that_have_ended(world: World) -> None:
    done = world.queue.enqueue("report").job_id
    world.work()
    dead = world.queue.enqueue("report", max_attempts=2).job_id
    world.script.then(RuntimeError("not this time"), RuntimeError("nor this time"))
    world.work()
    world.clock.advance(timedelta(minutes=1))
    again_at = world.clock.now()
    world.work()

    first, last = world.job(done), world.job(dead)

    assert (first.status, first.last_attempt_at) == (JobStatus.COMPLETED, first.started_at)
    assert (last.status, last.last_attempt_at) == (JobStatus.DEAD_LETTER, again_at)
