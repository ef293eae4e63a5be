"""Who may write one type's items can put anything into them. None of it is run, shown or counted as another type's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import Enqueued, JobStatus, NewJob
from leasehold.admin.listing import list_jobs
from leasehold.admin.others import DeadLetterFilter, list_dead_letters
from leasehold.admin.pages import JobFilter
from leasehold.groups.records import CODES, group_key
from leasehold.kernel import keys, partitions
from leasehold.kernel.dead_letter import dead_letter_for, dead_letter_insertion
from leasehold.kernel.end import Failure
from leasehold.kernel.errors import JobNotFoundError
from leasehold.kernel.keys import RANDOM_BITS, Due, JobPartition, key_of, make_job_id, type_code
from leasehold.kernel.table import JOBS, Key, Put, Update
from leasehold.limits.scopes import scope_key
from leasehold.operate.redrive import DeadJobMissingError
from leasehold.telemetry import DISAGREEMENTS, Event
from tests.contract import grouping
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Record
    from tests.contract.world import World


def id_in(world: World, job_type: str, bits: int = 7) -> JobId:
    return make_job_id(world.clock.now(), JobPartition(type_code(job_type)), bits)


def forge(world: World, key: Key, **values: Any) -> None:
    """What a handler of the type `email` can do with its own right: write any attributes under its own partition."""
    assert key.values[0].startswith(f"job#{type_code('email'):04x}#")
    world.table.write(Update(key=key, conditions=(), sets=values))


def record_of(world: World, job_type: str, **options: Any) -> Record:
    job_id = world.queue.enqueue(job_type, **options).job_id
    record = world.table.get(keys.job(job_id))
    assert record is not None
    return {name: value for name, value in record.items() if name not in {"PK", "SK"}}


def disagreements(world: World) -> int:
    assert len(world.recorder.of(Event.ENTRY_DISAGREES)) == world.recorder.total(DISAGREEMENTS)
    return int(world.recorder.total(DISAGREEMENTS))


def test_a_job_that_calls_itself_another_type_s_is_never_run(world: World) -> None:
    forged = id_in(world, "email")
    forge(world, keys.job(forged), **{**record_of(world, "report"), "job_id": forged, "created_by": "the boss"})

    assert world.work() == ["completed"]  # the one that the record was copied from

    assert [job.job_type for job in stored_jobs(world.services) if job.status is JobStatus.COMPLETED] == ["report"]
    assert disagreements(world) >= 1
    assert list_jobs(JobFilter(job_type="report"), world.services, limit=10, cursor=None).items != ()
    shown = list_jobs(JobFilter(), world.services, limit=10, cursor=None).items
    assert forged not in {job.job_id for job in shown}


def test_items_that_carry_an_honest_job_s_due_key_do_not_hide_that_job(world: World) -> None:
    record = record_of(world, "report")
    for bits in (0, 2**RANDOM_BITS - 1):  # whichever of them an index shows first
        forged = id_in(world, "email", bits)
        forge(world, keys.job(forged), **{**record, "job_id": forged})

    assert world.work() == ["completed"]

    assert world.status(str(record["job_id"])) is JobStatus.COMPLETED
    assert disagreements(world) >= 2


def test_nor_do_more_of_them_than_a_page_shows(world: World) -> None:
    record = record_of(world, "report")
    for bits in range(30):
        forged = id_in(world, "email", bits)
        forge(world, keys.job(forged), **{**record, "job_id": forged})

    world.work()

    assert world.status(str(record["job_id"])) == "completed"


def test_what_is_due_and_no_job_is_not_hidden_by_items_that_carry_its_due_key_either(world: World) -> None:
    made = {world.queue.enqueue("limited").job_id for _ in range(3)}
    first, second = world.claim()
    world.worker.run(first)
    scope = world.table.get(scope_key("type:limited"))
    assert scope is not None
    place = {name: scope[name] for name in ("due_key", "due_lane")}
    world.clock.move_to(Due.parse(str(place["due_key"])).at)
    partition = JobPartition(type_code("email")).name  # an index may show it before "seat#..."
    for number in range(2):
        forge(world, Key(JOBS, (partition, f"no job {number}")), **place)

    assert {world.claim_one().job_id} == made - {first.job_id, second.job_id}

    assert disagreements(world) == 2


def test_an_item_under_another_job_s_sort_key_does_not_stand_for_that_job(world: World) -> None:
    record = record_of(world, "report", run_in=timedelta(hours=1))
    wanted: JobId = record["job_id"]  # type: ignore[assignment]
    partition = JobPartition(type_code("email")).name
    due = f"{world.clock.now():%Y-%m-%dT%H:%M:%S.000Z}#0#x"
    forge(world, Key(JOBS, (partition, key_of(wanted).sk)), **{**record, "due_key": due, "due_lane": "3#0"})

    assert world.work() == []

    assert world.status(wanted) is JobStatus.PENDING
    assert disagreements(world) == 1


def test_a_job_in_progress_that_nobody_leased_is_not_reaped_as_another_type_s(world: World) -> None:
    record = record_of(world, "once")
    world.claim()
    stored = world.table.get(keys.job(record["job_id"]))  # type: ignore[arg-type]
    assert stored is not None
    forged = id_in(world, "email")
    values = {name: value for name, value in stored.items() if name not in {"PK", "SK"}}
    forge(world, keys.job(forged), **{**values, "job_id": forged, "started_at": values["locked_at"]})
    world.clock.advance(timedelta(hours=1))

    world.work()

    assert world.store.dead_letters.get(forged) is None
    assert disagreements(world) >= 1


def test_a_forged_dead_letter_is_neither_listed_nor_redriven(world: World) -> None:
    victim = record_of(world, "report", run_in=timedelta(hours=1))
    job = world.job(str(victim["job_id"]))
    dead_letter = dead_letter_for(job, Failure(error="boom", code="boom"), world.clock.now(), ())
    # As a handler of the type `email` may write it: under an id of its own type.
    forged = replace(dead_letter, id=id_in(world, "email"), original_job_id=job.job_id)
    world.table.write(dead_letter_insertion(forged))

    with pytest.raises(JobNotFoundError):
        world.operator.redrive(forged.id, reason="a trick")

    assert list(world.operator.dead_letters()) == []
    assert list_dead_letters(DeadLetterFilter(), world.services, limit=10, cursor=None).items == ()
    assert disagreements(world) >= 3
    assert len(stored_jobs(world.services)) == 1


def test_a_dead_letter_of_a_job_that_never_died_is_not_redriven(world: World) -> None:
    job = world.job(world.queue.enqueue("email", run_in=timedelta(hours=1)).job_id)
    for forged in (job.job_id, id_in(world, "email")):
        dead_letter = dead_letter_for(replace(job, job_id=forged), Failure(error="b", code="b"), world.clock.now(), ())
        world.table.write(dead_letter_insertion(dead_letter))

        with pytest.raises(DeadJobMissingError, match="Discard the letter"):
            world.operator.redrive(forged, reason="a trick")

    assert len(stored_jobs(world.services)) == 1


def test_a_dedup_record_that_points_to_another_type_s_job_holds_nothing(world: World) -> None:
    victim = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    held = world.queue.enqueue("email", dedup_key="u1", run_in=timedelta(hours=1)).job_id
    ref = world.job(held).dedup
    assert ref is not None
    pk, sk = key_of(victim)
    world.table.write(Update(key=partitions.dedup(ref), conditions=(), sets={"job_pk": pk, "job_sk": sk}))

    made = world.queue.enqueue("email", dedup_key="u1", on_duplicate="replace")

    assert made.created
    assert made.replaced is None
    assert world.status(victim) is JobStatus.PENDING


def test_a_job_that_calls_itself_a_member_is_not_counted(world: World) -> None:
    grouping.make(world, 2)
    stranger = world.queue.enqueue("email").job_id
    world.table.write(Update(key=keys.job(stranger), conditions=(), sets={"group_id": grouping.GROUP, "member": 0}))
    world.operator.pause("report", reason="only the stranger runs")

    grouping.run_out(world)

    assert world.status(stranger) is JobStatus.COMPLETED
    assert grouping.group(world).left == 2
    assert disagreements(world) == 1


def test_what_stands_in_a_lane_of_groups_and_is_none_is_not_listed(world: World) -> None:
    grouping.make(world, 1)
    forged = id_in(world, "email")
    forge(world, keys.job(forged), ended_lane="group", ended_key="2099-01-01T00:00:00.000Z#x")

    assert [each.group_id for each in world.queue.groups.list(limit=5)] == [grouping.GROUP]


def test_jobs_of_a_type_that_is_no_longer_deployed_stay_readable_and_in_listings(world: World) -> None:
    job_id = world.queue.enqueue("once", run_in=timedelta(days=1)).job_id
    world.deploy(world.types["report"])

    assert world.job(job_id).job_type == "once"
    for wanted in (JobFilter(), JobFilter(job_type="once"), JobFilter(statuses=frozenset({JobStatus.PENDING}))):
        assert [job.job_id for job in list_jobs(wanted, world.services, limit=10, cursor=None).items] == [job_id]


class Repeating:
    """A source of random numbers that has been cloned: it gives its first number again."""

    def __init__(self, world: World) -> None:
        self._random_source = world.services.random_source
        self._first = self._random_source.bits(RANDOM_BITS)
        self._left = 2

    def bits(self, count: int) -> int:
        if count == RANDOM_BITS and self._left:
            self._left -= 1
            return self._first
        return self._random_source.bits(count)

    def share(self) -> float:
        return self._random_source.share()


@pytest.mark.parametrize("payload", [{"n": 1}, {"pad": "x" * 100_000}])
def test_an_id_that_is_taken_is_not_taken_for_one_s_own(world: World, payload: dict[str, Any]) -> None:
    world.services.random_source = Repeating(world)

    first, second = (world.queue.enqueue("report", {**payload, "of": n}).job_id for n in (1, 2))

    assert first != second
    assert [world.job(each).payload["of"] for each in (first, second)] == [1, 2]  # type: ignore[call-overload,index]


def test_in_bulk_too_an_id_that_is_taken_is_not_taken_for_one_s_own(world: World, engine: str) -> None:
    if engine == "moto":
        pytest.skip("moto knows no PartiQL inserts with `?` in a batch")
    world.services.random_source = Repeating(world)
    first = world.queue.enqueue("report", {"n": 1}).job_id

    (result,) = world.queue.enqueue_many([NewJob(job="report", payload={"n": 2})])

    assert isinstance(result, Enqueued)
    assert [world.job(each).payload for each in (first, result.job_id)] == [{"n": 1}, {"n": 2}]


def test_a_group_of_many_types_finds_each_of_its_members(world: World) -> None:
    names = [("report", "email", "once")[n % 3] for n in range(80)]
    made = world.queue.groups.create([NewJob(job=name) for name in names], group_id=grouping.GROUP, mode="parallel")

    found = grouping.members(world)
    assert [job.job_type for job in found] == names
    assert [made.group.member_id(n) for n in range(80)] == [job.job_id for job in found]
    apart = world.table.get(group_key(grouping.GROUP, CODES))
    assert apart is not None
    group_item = world.table.get(group_key(grouping.GROUP))
    assert group_item is not None
    assert "codes" not in group_item

    grouping.run_out(world)

    assert grouping.group(world).completed == 80
    expiring = world.table.get(group_key(grouping.GROUP, CODES))
    assert expiring is not None
    assert expiring["expires_at"] == grouping.group(world).expires_at


def test_a_short_sequence_of_several_types_keeps_their_codes_in_its_own_item(world: World) -> None:
    world.queue.groups.create([NewJob(job=name) for name in ("report", "email", "once")], group_id=grouping.GROUP)

    assert world.table.get(group_key(grouping.GROUP, CODES)) is None
    assert grouping.run_out(world) == ["completed"] * 3
    assert [job.job_type for job in grouping.members(world)] == ["report", "email", "once"]


def test_what_is_no_job_s_key_among_jobs_does_not_stop_a_listing(world: World) -> None:
    job_id = world.queue.enqueue("email").job_id
    partition = JobPartition(type_code("email")).name
    world.table.write(Put(key=Key(JOBS, (partition, "scheduled#2026-01-01T00:00:00.000Z#nonsense")), record={"n": 1}))

    listed = list_jobs(JobFilter(job_type="email"), world.services, limit=10, cursor=None).items

    assert [job.job_id for job in listed] == [job_id]
