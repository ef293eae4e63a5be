"""Jobs whose payload stands apart behave like all others, wherever they come from and whatever becomes of them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, NewJob, NonRetryableError
from leasehold.admin.reading import Reader
from leasehold.kernel import partitions
from leasehold.kernel.enqueue import Enqueued, draft, request_of
from leasehold.kernel.errors import PayloadNotReadError, WrongStateError
from leasehold.kernel.execute import Executor
from leasehold.kernel.offload import offloaded
from leasehold.kernel.payload import OFFLOADED, size_of
from leasehold.operate.purge import purge
from leasehold.scheduler import JobScheduler
from tests.contract.counted import CountedTable
from tests.contract.large import items_of, large, lose_payload
from tests.contract.world import RETRY_DELAY, World

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.payload import Json
    from leasehold.kernel.table import Put, Record, Table


def test_a_job_with_a_large_payload_is_stored_without_it_and_runs_with_it(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id

    stored = world.job(job_id)
    assert stored.payload_name is not None
    assert size_of(stored.stored_payload) < 50
    assert [item["SK"] for item in items_of(world, job_id)] == [stored.payload_name]
    assert world.queue.get(job_id).payload == large()
    assert world.work() == ["completed"]
    # Nobody deletes it: that would be billed like its writing. It expires.
    assert len(items_of(world, job_id)) == 1


def test_it_expires_more_than_a_year_after_the_job_would(world: World) -> None:
    job_id = world.queue.enqueue("report", large(), run_in=timedelta(days=100)).job_id

    (item,) = items_of(world, job_id)

    expected = world.clock.now() + timedelta(days=100 + 7 + 400)
    assert item["expires_at"] == int(expected.timestamp())


def test_a_handler_keeps_its_payload_through_heartbeats_and_looks(world: World) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    seen: list[object] = []

    def look(context: JobContext) -> Json:
        context.extend()
        world.clock.advance(timedelta(seconds=6))
        seen.append(context.cancel_requested)
        # It was read at the start, and is needed no more.
        lose_payload(world, job_id)
        raise NonRetryableError("that was all")

    world.script.then(look)

    assert world.work() == ["dead_letter"]
    assert seen == [False]
    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert dead_letter.payload == large()


def test_a_retried_job_reads_its_payload_again(world: World) -> None:
    world.queue.enqueue("report", large())
    world.script.then(RuntimeError("not now"))

    assert world.work() == ["failed"]
    world.clock.advance(RETRY_DELAY)
    assert world.work() == ["completed"]


def test_a_payload_that_is_gone_makes_a_dead_letter_at_once_which_says_so(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    lose_payload(world, job_id)

    assert world.work() == ["dead_letter"]

    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert (dead_letter.error_code, dead_letter.payload) == ("payload_missing", {"$missing": True})
    assert "enqueue the job anew" in dead_letter.failure_reason
    assert world.queue.get(job_id).payload == {"$missing": True}


def test_the_scheduler_port_passes_a_job_by_whose_payload_is_gone(world: World) -> None:
    gone, there = (world.queue.enqueue("report", large(n)).job_id for n in (1, 2))
    lose_payload(world, gone)

    jobs = JobScheduler(world.queue).get_pending_jobs(5)

    assert [(job.job_id, job.payload) for job in jobs] == [(there, large(2))]
    assert world.status(gone) is JobStatus.DEAD_LETTER


def test_a_lost_worker_leaves_a_dead_letter_with_the_payload(world: World) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    Executor(world.services, worker_id="lost").begin(world.claim_one())
    world.clock.advance(timedelta(days=1))

    world.poll()

    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert (dead_letter.error_code, dead_letter.payload) == ("worker_lost", large())


@pytest.mark.parametrize("loses_own_copy", [False, True])
def test_a_dead_job_is_redriven_with_its_dead_letters_copy(world: World, loses_own_copy: bool) -> None:
    job_id = world.queue.enqueue("once", large()).job_id
    world.script.then(RuntimeError("no"))
    world.work()
    if loses_own_copy:
        lose_payload(world, job_id)

    assert Reader(world.services).job(job_id)["payload"] == large()
    again = world.queue.retry(job_id).job_id

    assert world.queue.get(again).payload == large()
    assert world.work() == ["completed"]


def test_a_retry_of_an_ended_job_has_a_copy_of_its_own(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    world.work()

    again = world.queue.retry(job_id).job_id

    assert len(items_of(world, again)) == 1
    lose_payload(world, job_id)
    assert world.work() == ["completed"]
    with pytest.raises(WrongStateError, match="enqueue it anew"):
        world.queue.retry(job_id)


def test_an_edit_points_the_job_to_its_new_payload(world: World) -> None:
    job_id = world.queue.enqueue("report", large(1), run_in=timedelta(hours=1)).job_id

    assert world.queue.edit(job_id, payload=large(2)).payload == large(2)
    assert len(items_of(world, job_id)) == 2
    assert world.queue.edit(job_id, payload={"n": 3}).payload == {"n": 3}
    assert world.job(job_id).payload_name is None
    assert world.queue.edit(job_id, payload=large(1), priority=2).payload == large(1)
    assert world.queue.reprioritise(job_id, 3).payload == large(1)


def test_an_edit_does_not_overwrite_anothers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = world.queue.enqueue("report", large(1), run_in=timedelta(hours=1)).job_id
    write = world.store.table.write

    def write_while_another_edits(item: Put) -> Record:
        monkeypatch.setattr(world.store.table, "write", write)
        world.queue.edit(job_id, payload=large(2))
        return write(item)

    monkeypatch.setattr(world.store.table, "write", write_while_another_edits)

    with pytest.raises(WrongStateError, match="changed by somebody else"):
        world.queue.edit(job_id, payload=large(3))
    assert world.queue.get(job_id).payload == large(2)


def test_a_purge_takes_all_of_its_payloads(world: World) -> None:
    job_id = world.queue.enqueue("report", large(1)).job_id
    world.queue.edit(job_id, payload=large(2))
    world.work()

    purge(job_id, world.services, reason="she asked for it")

    assert items_of(world, job_id) == []
    assert world.queue.get(job_id).payload == {"$purged": True}
    with pytest.raises(WrongStateError, match="purged"):
        world.queue.retry(job_id)


def test_dedup_keys_are_taken_held_replaced_and_taken_over(world: World) -> None:
    first = world.queue.enqueue("report", large(1), dedup_key="k", run_in=timedelta(hours=1))
    held = world.queue.enqueue("report", large(2), dedup_key="k")
    assert (held.job_id, held.created) == (first.job_id, False)

    second = world.queue.enqueue("report", large(3), dedup_key="k", on_duplicate="replace")
    assert second.replaced == first.job_id
    assert world.queue.get(second.job_id).payload == large(3)
    assert world.work() == ["completed"]

    third = world.queue.enqueue("report", large(4), dedup_key="k")
    assert third.created
    assert world.queue.get(third.job_id).payload == large(4)


def test_a_bulk_has_short_and_long_payloads_in_order(world: World) -> None:
    payloads: list[Json] = [large(n) if n % 2 else {"n": n} for n in range(60)]

    results = world.queue.enqueue_many(NewJob(job="report", payload=each) for each in payloads)

    ids = [each.job_id for each in results if isinstance(each, Enqueued)]
    assert [world.queue.get(job_id).payload for job_id in ids] == payloads
    assert world.work() == ["completed"] * 60


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_group_and_its_callback_have_large_payloads(world: World, mode: str) -> None:
    members = [NewJob(job="report", payload=large(n)) for n in (1, 2)]
    group = world.queue.groups.create(members, mode=mode, callback=NewJob(job="email", payload=large(3)), group_id="g")

    for _ in range(6):
        world.work()

    ended = world.queue.groups.get(group.group_id)
    assert (ended.completed, ended.state) == (2, "completed")
    assert ended.callback_job_id is not None
    told = world.queue.get(ended.callback_job_id)
    assert isinstance(told.payload, dict)
    assert {**told.payload, "group": None} == {**large(3), "group": None}
    assert told.status is JobStatus.COMPLETED


def test_a_slot_makes_its_job_with_a_large_payload(world: World) -> None:
    world.queue.schedules.create("hourly", "report", large(), every=timedelta(hours=1), reason="reports")
    world.clock.advance(timedelta(hours=1))

    assert world.work() == ["completed"]


def test_a_listing_reads_no_payload(table: Table) -> None:
    counted = CountedTable(table)
    world = World(counted)
    for n in range(5):
        world.queue.enqueue("report", large(n))
    counted.requests.clear()

    page = Reader(world.services).jobs()

    assert counted.requests["get"] <= 2
    assert counted.requests["get_many"] <= 1
    with pytest.raises(PayloadNotReadError):
        _ = page.items[0].payload


def test_the_item_under_a_jobs_name_for_it_cannot_be_another_jobs(world: World) -> None:
    """The same content in two jobs stands in two items: one job's purge does not touch the other."""
    one, other = (world.queue.enqueue("report", large()).job_id for _ in range(2))
    name = world.job(one).payload_name
    assert name is not None
    assert world.job(other).stored_payload == OFFLOADED + name
    assert partitions.payload(one, name) != partitions.payload(other, name)


def test_a_creation_that_is_repeated_with_other_content_does_not_mix_the_two_up(world: World) -> None:
    """The first try died between payload and job; the second, of the same id, asks for something else."""
    first = draft(request_of(NewJob(job="report", payload=large(1))), world.services).job
    offloaded(first, world.services)
    request = request_of(NewJob(job="report", payload=large(2)))
    world.store.jobs.insert(offloaded(draft(request, world.services, job_id=first.job_id).job, world.services))

    assert len(items_of(world, first.job_id)) == 2
    assert world.queue.get(first.job_id).payload == large(2)
