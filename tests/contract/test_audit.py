"""What people and programs do is recorded with who did it, in the same transaction; and trails show tampering."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn, cast

import pytest

from leasehold import JobStatus, JobType, NewJob, Priority
from leasehold.admin.others import Auditor
from leasehold.audit.keys import audit_head_key, audit_key, audit_partition
from leasehold.audit.roots import KeptRoots, Root, check_roots, keep_root, verify, verify_all
from leasehold.kernel.enqueue import Enqueued
from leasehold.kernel.errors import InvalidOptionError, StoreUnavailableError, WrongStateError
from leasehold.kernel.table import JOBS, Delete, Put, Update
from leasehold.operate.purge import purge
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.table import Key, Record
    from tests.contract.world import World

HOUR = timedelta(hours=1)


def told(world: World, target: str) -> list[tuple[str, str, str]]:
    return [
        (each.audit_entry.action, each.audit_entry.by, each.audit_entry.reason)
        for each in world.services.store.audits.trail(target)
    ]


def test_every_action_on_a_job_leaves_one_record_with_its_actor_and_reason(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=HOUR).job_id
    other = world.queue.enqueue("report", run_in=HOUR).job_id
    steps: list[Callable[[], object]] = [
        lambda: world.queue.reschedule(job_id, run_in=2 * HOUR, reason="too early"),
        lambda: world.queue.edit(job_id, payload={"n": 2}, reason="wrong number"),
        lambda: world.queue.reprioritise(job_id, Priority.HIGH, reason="urgent"),
        lambda: world.queue.move(job_id, before=other, reason="first things first"),
        lambda: world.queue.cancel(job_id, reason="not needed"),
        lambda: world.queue.retry(job_id, reason="needed after all"),
    ]
    for step in steps:
        step()
        world.clock.advance(timedelta(seconds=1))

    assert told(world, f"job#{job_id}") == [
        ("reschedule", "ada", "too early"),
        ("edit", "ada", "wrong number"),
        ("edit", "ada", "urgent"),
        ("move", "ada", "first things first"),
        ("cancel", "ada", "not needed"),
        ("retry", "ada", "needed after all"),
    ]
    assert [flaws for _, flaws in verify_all(world.services) if flaws] == []


def test_the_actor_is_who_was_authenticated(world: World) -> None:
    first, second = (world.queue.enqueue("report", run_in=HOUR).job_id for _ in range(2))
    world.queue.cancel(first, reason="a")
    world.act_as("arn:aws:iam::123456789012:user/bob")
    world.queue.cancel(second, reason="b")

    assert [told(world, f"job#{each}")[0][1] for each in (first, second)] == [
        "ada",
        "arn:aws:iam::123456789012:user/bob",
    ]
    with pytest.raises(TypeError):
        world.queue.retry(first, created_by="eve")  # type: ignore[call-arg]


def test_an_action_that_is_refused_or_repeated_leaves_no_record(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=HOUR).job_id
    world.queue.cancel(job_id, reason="once")

    with pytest.raises(WrongStateError):
        world.queue.cancel(job_id, reason="twice")
    waiting = world.queue.enqueue("report", run_in=HOUR).job_id
    with pytest.raises(InvalidOptionError):
        world.queue.reschedule(waiting, reason="r" * 1025)

    assert told(world, f"job#{waiting}") == []
    assert told(world, f"job#{job_id}") == [("cancel", "ada", "once")]


def test_a_running_job_that_is_asked_to_stop_has_it_on_record(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    handover = world.claim_one()

    def stop(_context: object) -> None:
        world.queue.cancel(job_id, reason="stop it")

    world.script.then(stop)
    world.worker.run(handover)

    assert told(world, f"job#{job_id}") == [("request_cancel", "ada", "stop it")]


def test_a_job_that_a_program_enqueues_for_a_person_is_on_record_and_one_of_the_system_is_not(world: World) -> None:
    plain = world.queue.enqueue("report").job_id
    made = world.queue.enqueue("report", created_by="ada").job_id
    keyed = world.queue.enqueue("report", created_by="ada", dedup_key="one").job_id
    again = world.queue.enqueue("report", created_by="eve", dedup_key="one")
    results = world.queue.enqueue_many([NewJob(job="report", created_by="bob"), NewJob(job="report")])
    bulk = [each.job_id for each in results if isinstance(each, Enqueued)]

    assert told(world, f"job#{plain}") == []
    assert told(world, f"job#{made}") == [("create", "ada", "created")]
    assert (again.created, told(world, f"job#{keyed}")) == (False, [("create", "ada", "created")])
    assert [told(world, f"job#{each}") for each in bulk] == [[("create", "bob", "created")], []]
    (record,) = world.services.store.audits.trail(f"job#{made}")
    # Nobody has authenticated that name: the record says where it comes from.
    assert json.loads(record.audit_entry.details) == {"job_type": "report", "named_by": "program"}
    world.queue.cancel(made, reason="no longer needed")
    assert list(verify_all(world.services)) == [(f"job#{each}", []) for each in sorted([made, keyed, bulk[0]])]


def test_a_type_may_switch_the_record_of_its_creations_off(world: World) -> None:
    world.deploy(*TYPES, JobType(name="chatty", audit_creation=False))

    job_id = world.queue.enqueue("chatty", created_by="ada").job_id

    assert told(world, f"job#{job_id}") == []
    assert world.job(job_id).created_by == "ada"


def test_dead_letters_are_redriven_and_discarded_on_record(world: World) -> None:
    world.script.then(RuntimeError("boom"), RuntimeError("boom"))
    first, second = (world.queue.enqueue("once").job_id for _ in range(2))
    assert sorted(world.work()) == ["dead_letter", "dead_letter"]

    made = world.operator.redrive(first, reason="fixed").job_id
    assert world.operator.redrive(first, reason="again").job_id == made
    world.operator.discard(second, reason="known")

    assert told(world, f"dead-letter#{first}") == [("redrive", "ada", "fixed")]
    assert told(world, f"dead-letter#{second}") == [("discard", "ada", "known")]
    (record,) = world.services.store.audits.trail(f"dead-letter#{first}")
    assert json.loads(record.audit_entry.details) == {"new_job_id": made}


def test_switches_are_turned_on_record_and_only_when_they_turn(world: World) -> None:
    assert world.operator.halt(reason="bad deploy")
    assert not world.operator.halt(reason="me too")
    world.clock.advance(timedelta(seconds=1))
    assert world.operator.resume(reason="rolled back")
    assert not world.operator.resume(reason="again")
    assert world.operator.pause("email", reason="provider is down")
    world.clock.advance(timedelta(seconds=1))
    world.act_as("bob")
    assert world.operator.unpause("email", reason="it is up")
    assert not world.operator.unpause("email", reason="again")

    assert told(world, "control#halt") == [("halt", "ada", "bad deploy"), ("resume", "ada", "rolled back")]
    assert told(world, "control#type#email") == [("pause", "ada", "provider is down"), ("resume", "bob", "it is up")]
    assert [flaws for _, flaws in verify_all(world.services) if flaws] == []


def test_a_group_that_somebody_makes_is_on_record_once(world: World) -> None:
    for _ in range(2):
        world.queue.groups.create([NewJob(job="once")] * 2, group_id="import", reason="monthly import")
    world.clock.advance(timedelta(seconds=1))
    world.queue.groups.cancel("import", reason="wrong file")

    assert told(world, "group#import") == [("create", "ada", "monthly import"), ("cancel", "ada", "wrong file")]
    assert [flaws for _, flaws in verify_all(world.services) if flaws] == []


def test_runs_by_hand_are_on_the_schedules_record(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.advance(3 * HOUR)

    world.queue.schedules.trigger("hourly", reason="try it")
    world.clock.advance(timedelta(seconds=1))
    world.queue.schedules.trigger("hourly", reason="twice in a minute makes one")
    now = world.clock.now()
    made = world.queue.schedules.backfill("hourly", now - 2 * HOUR, now, reason="lost in an outage")

    actions = [action for action, _, _ in told(world, "schedule#hourly")]
    assert actions == ["create", "trigger", *["backfill"] * len(made)]
    assert made


def test_a_purged_job_keeps_its_history_and_none_of_its_content(world: World) -> None:
    world.script.then(RuntimeError("ada@example.com is unknown"))
    job_id = world.queue.enqueue("once", {"n": 1, "email": "ada@example.com"}).job_id
    world.work()

    job = purge(job_id, world.services, reason="asked to be forgotten")

    assert (job.status, job.attempts, len(job.runs)) == (JobStatus.DEAD_LETTER, 1, 1)
    dead_letter = world.operator.dead_letter(job_id)
    everything = json.dumps(
        [str(job), str(dead_letter), [str(each) for each in world.services.store.audits.trail(f"job#{job_id}")]]
    )
    assert "example.com" not in everything
    assert told(world, f"job#{job_id}") == [("purge", "ada", "asked to be forgotten")]
    assert [flaws for _, flaws in verify_all(world.services) if flaws] == []
    with pytest.raises(WrongStateError, match="forgotten"):
        world.operator.redrive(job_id, reason="again")


def test_a_job_that_needs_its_payload_is_not_purged(world: World) -> None:
    job_id = world.queue.enqueue("once", {"n": 417}).job_id

    with pytest.raises(WrongStateError, match="cancel it first"):
        purge(job_id, world.services, reason="asked to be forgotten")

    assert world.job(job_id).payload == {"n": 417}


def test_the_newest_records_are_listed_whatever_they_are_about(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=HOUR).job_id
    world.queue.cancel(job_id, reason="a")
    world.clock.advance(HOUR)
    world.queue.schedules.create("hourly", "report", every=HOUR)

    page = Auditor(world.services).records(limit=10)

    assert [each.audit_entry.target for each in page.items] == ["schedule#hourly", f"job#{job_id}"]


class Tamperer:
    """Somebody with write access to the table and no respect."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.job_id = world.queue.enqueue("report", run_in=HOUR).job_id
        self.target = f"job#{self.job_id}"
        for reason in ("first", "second", "third"):
            world.queue.reschedule(self.job_id, run_in=HOUR, reason=reason)
            world.clock.advance(timedelta(seconds=1))
        self.records = world.table.query(JOBS, audit_partition(self.target), limit=9).records

    def key_of(self, record: Record) -> Key:
        at, _, audit_entry_id = cast("str", record["SK"]).partition("#")
        return audit_key(self.target, at, audit_entry_id)

    def edit(self) -> None:
        self.world.table.write(Update(key=self.key_of(self.records[1]), conditions=(), sets={"by": "nobody"}))

    def scribble(self) -> None:
        """What is no text is no reason not to be told of it."""
        self.world.table.write(Update(key=self.key_of(self.records[1]), conditions=(), sets={"details": 7, "at": "?"}))

    def remove(self) -> None:
        self.world.table.write(Delete(key=self.key_of(self.records[1]), conditions=()))

    def truncate(self) -> None:
        """The last record alone is no loss: the head has its entry too."""
        for record in self.records[-2:]:
            self.world.table.write(Delete(key=self.key_of(record), conditions=()))

    def reorder(self) -> None:
        """The second is written before the first, with a date to match."""
        record = dict(self.records[1])
        self.world.table.write(Delete(key=self.key_of(record), conditions=()))
        at = "2020-01-01T00:00:00.000Z"
        content = {name: value for name, value in record.items() if name not in {"PK", "SK"}}
        audit_entry_id = cast("str", record["SK"]).partition("#")[2]
        self.world.table.write(Put(key=audit_key(self.target, at, audit_entry_id), record=content | {"at": at}))


@pytest.mark.parametrize(
    ("crime", "problem"),
    [
        ("edit", "was edited"),
        ("scribble", "was edited"),
        ("remove", "a record is missing"),
        ("truncate", "a record is missing"),
        ("reorder", "was edited"),
    ],
)
def test_tampering_with_a_trail_is_noticed(world: World, crime: str, problem: str) -> None:
    tamperer = Tamperer(world)
    head = {each.target: each.digest for each in world.services.store.audits.heads()}[tamperer.target]
    assert verify(tamperer.target, head, world.services) == []

    getattr(tamperer, crime)()

    flaws = verify(tamperer.target, head, world.services)
    assert any(problem in flaw.problem for flaw in flaws), flaws


def gone(_puts: object) -> NoReturn:
    """As a table that is away answers: nothing comes of the whole call."""
    raise StoreUnavailableError("gone")


def test_an_entry_whose_record_was_lost_in_a_crash_is_read_from_the_head_and_inserted_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.queue.enqueue("report", run_in=HOUR).job_id
    target = f"job#{job_id}"
    with monkeypatch.context() as crash:
        crash.setattr(world.table, "insert_many", gone)
        world.queue.reschedule(job_id, run_in=HOUR, reason="first")

    stored = world.table.query(JOBS, audit_partition(target), limit=9).records
    assert stored == []
    assert [each.audit_entry.reason for each in world.services.store.audits.trail(target)] == ["first"]
    assert dict(verify_all(world.services)) == {target: []}

    world.queue.cancel(job_id, reason="second")

    stored = world.table.query(JOBS, audit_partition(target), limit=9).records
    assert [each["reason"] for each in stored] == ["first", "second"]
    assert dict(verify_all(world.services)) == {target: []}


def test_an_entry_that_cannot_be_put_on_record_does_not_give_way_to_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.queue.enqueue("report", run_in=HOUR).job_id
    monkeypatch.setattr(world.table, "insert_many", gone)
    world.queue.reschedule(job_id, run_in=HOUR, reason="first")

    with pytest.raises(StoreUnavailableError):
        world.queue.cancel(job_id, reason="second")

    assert [each.audit_entry.reason for each in world.services.store.audits.trail(f"job#{job_id}")] == ["first"]


class Shelf:
    """Roots outside of the table."""

    def __init__(self) -> None:
        self.kept: list[Root] = []

    def keep(self, root: Root) -> None:
        self.kept.append(root)

    def read(self) -> KeptRoots:
        return KeptRoots(place="a shelf", roots=list(self.kept))


def test_a_root_holds_for_its_moment_however_much_is_done_afterwards(world: World) -> None:
    shelf = Shelf()
    tamperer = Tamperer(world)
    world.clock.advance(HOUR)
    keep_root(world.services, shelf)
    world.queue.cancel(tamperer.job_id, reason="later")
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.advance(HOUR)
    second = keep_root(world.services, shelf)

    assert check_roots(shelf.read(), world.services) == []
    assert [root.targets for root in shelf.kept] == [1, 2]
    assert second != shelf.kept[0]


@pytest.mark.parametrize("crime", ["remove the whole target", "cut the chain and move its head back"])
def test_a_root_shows_what_no_chain_can(world: World, crime: str) -> None:
    shelf = Shelf()
    tamperer = Tamperer(world)
    world.clock.advance(HOUR)
    keep_root(world.services, shelf)

    if crime.startswith("remove"):
        for record in tamperer.records:
            world.table.write(Delete(key=tamperer.key_of(record), conditions=()))
        world.table.write(Delete(key=audit_head_key(tamperer.target), conditions=()))
    else:
        world.table.write(Delete(key=tamperer.key_of(tamperer.records[-1]), conditions=()))
        back = {"head": tamperer.records[-2]["head"]}
        world.table.write(Update(key=audit_head_key(tamperer.target), conditions=(), sets=back))

    assert [flaws for _, flaws in verify_all(world.services) if flaws] == [], "the chains alone look well"
    assert [flaw.problem for flaw in check_roots(shelf.read(), world.services)] == [
        "the trails of that day no longer lead to it"
    ]


def test_days_without_a_root_are_findings_up_to_yesterday(world: World) -> None:
    shelf = Shelf()
    Tamperer(world)
    world.clock.advance(HOUR)
    for day in range(6):
        if day not in {2, 3}:
            keep_root(world.services, shelf)
        world.clock.advance(timedelta(days=1))
    assert [flaw.target for flaw in check_roots(shelf.read(), world.services)] == [
        "root of 2026-01-03",
        "root of 2026-01-04",
    ]
    world.clock.advance(timedelta(days=1))

    assert [flaw.target for flaw in check_roots(shelf.read(), world.services)][-1] == "root of 2026-01-07"


def test_who_acts_while_a_trail_is_verified_is_no_tamperer(world: World) -> None:
    tamperer = Tamperer(world)
    seen = {each.target: each.digest for each in world.services.store.audits.heads()}[tamperer.target]

    world.queue.cancel(tamperer.job_id, reason="meanwhile")

    assert verify(tamperer.target, seen, world.services) == []


def test_heads_of_each_kind_have_a_partition_that_a_role_can_be_narrowed_to(world: World) -> None:
    Tamperer(world)
    world.queue.schedules.create("hourly", "report", every=HOUR)

    assert [each["SK"] for each in world.table.query(JOBS, "audit-head#schedule", limit=9).records] == [
        "schedule#hourly"
    ]
    assert len(world.table.query(JOBS, "audit-head#job", limit=9).records) == 1
    assert world.table.query(JOBS, "audit-head", limit=9).records == []
