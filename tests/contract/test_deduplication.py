"""Dedup keys: at most one job per key, and the caller is told which job it is."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Day, JobStatus, NonRetryableError, Within
from leasehold.kernel import keys, partitions
from leasehold.kernel.dedup import retire_dedup_record
from leasehold.kernel.errors import DuplicateJobError
from leasehold.kernel.job import DedupRef
from leasehold.kernel.table import Delete

if TYPE_CHECKING:
    from leasehold import Enqueued
    from leasehold.kernel.dedup import DedupWindow
    from leasehold.kernel.table import Record
    from tests.contract.world import World


def enqueue(world: World, window: DedupWindow | None = None, **options: object) -> Enqueued:
    return world.queue.enqueue("report", dedup_key="u1", dedup_window=window, **options)  # type: ignore[arg-type]


def record_of(world: World, job_id: str) -> Record:
    ref: DedupRef | None = world.job(job_id).dedup
    assert ref is not None
    record = world.table.get(partitions.dedup(ref))
    assert record is not None
    return record


def test_a_second_job_with_the_same_key_is_the_first_one(world: World) -> None:
    first = enqueue(world, run_in=timedelta(hours=1))

    second = enqueue(world)

    assert (first.created, second.created, second.job_id) == (True, False, first.job_id)
    assert world.work() == []


def test_keys_of_different_types_and_different_keys_are_different(world: World) -> None:
    made = [enqueue(world), world.queue.enqueue("email", dedup_key="u1"), world.queue.enqueue("report", dedup_key="u2")]

    assert [each.created for each in made] == [True, True, True]


def test_a_caller_can_ask_for_an_error_instead(world: World) -> None:
    first = enqueue(world)

    with pytest.raises(DuplicateJobError) as refused:
        enqueue(world, on_duplicate="raise")

    assert refused.value.existing == first.job_id


def test_a_waiting_job_is_replaced(world: World) -> None:
    old = enqueue(world, run_in=timedelta(hours=1)).job_id

    new = enqueue(world, on_duplicate="replace")

    assert (new.created, new.replaced) == (True, old)
    replaced = world.job(old)
    assert (replaced.status, replaced.cancel_reason) == (JobStatus.CANCELLED, f"replaced by {new.job_id}")
    assert enqueue(world).job_id == new.job_id
    world.clock.advance(timedelta(hours=2))
    assert world.work() == ["completed"]


def test_a_job_that_was_claimed_is_not_replaced(world: World) -> None:
    running = enqueue(world).job_id
    world.claim()

    again = enqueue(world, on_duplicate="replace")

    assert (again.job_id, again.created, again.replaced) == (running, False, None)
    assert world.status(running) is JobStatus.IN_PROGRESS


def test_a_failed_job_that_will_be_retried_still_holds_its_key(world: World) -> None:
    first = enqueue(world).job_id
    world.script.then(RuntimeError())
    world.work()

    assert enqueue(world).job_id == first


def test_a_key_whose_job_is_gone_is_taken_over(world: World) -> None:
    first = enqueue(world, Day())
    world.table.write(Delete(key=keys.job(first.job_id), conditions=()))

    second = enqueue(world, Day())

    assert (second.created, second.replaced) == (True, None)
    assert str(record_of(world, second.job_id)["job_sk"]).endswith(second.job_id)


def test_the_record_expires_after_its_job_and_only_once_the_job_has_ended(world: World) -> None:
    first = enqueue(world).job_id
    assert "expires_at" not in record_of(world, first)
    world.work()

    expires_at = record_of(world, first)["expires_at"]
    job_expires_at = world.job(first).expires_at

    assert isinstance(expires_at, int)
    assert job_expires_at is not None
    assert expires_at > job_expires_at
    second = enqueue(world).job_id
    assert "expires_at" not in record_of(world, second)


def test_the_end_of_an_old_job_does_not_let_the_record_of_a_new_one_expire(world: World) -> None:
    old = enqueue(world, run_in=timedelta(hours=1)).job_id
    new = enqueue(world, on_duplicate="replace").job_id
    record = record_of(world, new)

    retire_dedup_record(world.job(old), 1, world.services)

    assert record_of(world, new) == record


def test_a_retry_of_an_ended_job_keeps_its_key(world: World) -> None:
    first = enqueue(world, Day()).job_id
    world.work()

    again = world.queue.retry(first)

    assert (again.created, world.job(again.job_id).retry_of) == (True, first)
    assert enqueue(world, Day()).job_id == again.job_id


def test_a_redrive_keeps_its_key(world: World) -> None:
    first = enqueue(world, Day()).job_id
    world.script.then(NonRetryableError("broken"))
    world.work()
    assert enqueue(world, Day()).job_id == first

    redriven = world.operator.redrive(first, reason="fixed")

    assert redriven.job_id is not None
    assert enqueue(world, Day()).job_id == redriven.job_id


def test_a_dead_job_whose_key_another_job_holds_by_now_is_not_redriven(world: World) -> None:
    first = enqueue(world).job_id
    world.script.then(NonRetryableError("broken"))
    world.work()
    second = enqueue(world).job_id
    assert second != first

    with pytest.raises(DuplicateJobError) as refused:
        world.operator.redrive(first, reason="fixed")

    assert refused.value.existing == second
    assert world.operator.dead_letter(first).is_open


def test_a_redrive_takes_its_key_back_also_when_the_record_is_gone(world: World) -> None:
    dead = world.queue.enqueue("once", dedup_key="u1").job_id
    world.script.then(ValueError("no"))
    world.work()
    world.table.write(Delete(key=partitions.dedup(DedupRef("once", "u1", "-")), conditions=()))

    redriven = world.operator.redrive(dead, reason="fixed").job_id

    assert world.queue.enqueue("once", dedup_key="u1").job_id == redriven


def test_a_dead_job_is_redriven_once_the_job_that_took_its_key_has_ended(world: World) -> None:
    dead = enqueue(world).job_id
    world.script.then(NonRetryableError("broken"))
    world.work()
    enqueue(world)
    assert world.work() == ["completed"]

    redriven = world.operator.redrive(dead, reason="fixed").job_id

    assert enqueue(world).job_id == redriven
    assert world.work() == ["completed"]


def test_a_dead_job_is_not_redriven_while_the_window_of_another_job_holds_its_key(world: World) -> None:
    dead = enqueue(world).job_id
    world.script.then(NonRetryableError("broken"))
    world.work()
    other = enqueue(world, Within(timedelta(hours=1))).job_id
    assert world.work() == ["completed"]

    with pytest.raises(DuplicateJobError) as refused:
        world.operator.redrive(dead, reason="fixed")
    world.clock.advance(timedelta(hours=1))

    assert refused.value.existing == other
    assert world.operator.redrive(dead, reason="fixed").created
