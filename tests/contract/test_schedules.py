"""Recurring schedules on every store: slots become jobs once, changes are recorded, EventBridge follows the table."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidKeyError,
    InvalidOptionError,
    SystemHaltedError,
    UnknownJobTypeError,
)
from leasehold.kernel.keys import scheduled_for_of
from leasehold.kernel.table import JOBS
from leasehold.schedules.model import (
    Origin,
    Schedule,
    ScheduleDeployedError,
    ScheduleExistsError,
    ScheduleNotFoundError,
)
from leasehold.schedules.records import schedule_key
from leasehold.schedules.recurrence import Cron, Every, InTheGap
from leasehold.schedules.trigger import TELL_AGAIN_AFTER, MirrorError, trigger
from leasehold.schedules.verbs import deploy, find
from tests.contract.world import TYPES
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Record
    from tests.contract.world import World

HOUR = timedelta(hours=1)
ONE, TWO, THREE = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (1, 2, 3))


class Mirror:
    """EventBridge, or what it would be told."""

    def __init__(self) -> None:
        self.known: dict[str, Schedule] = {}
        self.failure: str | None = None

    def put(self, schedule: Schedule) -> None:
        self._fail()
        if schedule.is_active:
            self.known[schedule.name] = schedule
        else:
            self.known.pop(schedule.name, None)

    def delete(self, name: str) -> None:
        self._fail()
        self.known.pop(name, None)

    def _fail(self) -> None:
        if self.failure is not None:
            raise MirrorError(self.failure)


@pytest.fixture
def mirror(world: World) -> Mirror:
    world.services.mirror = mirror = Mirror()
    return mirror


def slots_of(job_ids: list[JobId]) -> list[datetime]:
    return [scheduled_for_of(job_id) for job_id in job_ids]


def all_jobs(world: World) -> list[datetime]:
    return [job.scheduled_for for job in stored_jobs(world.services)]


def audits(world: World, name: str) -> list[Record]:
    return world.table.query(JOBS, f"audit#schedule#{name}", limit=100).records


def test_a_poll_makes_the_job_of_a_slot_and_runs_it(world: World) -> None:
    world.queue.schedules.create("hourly", "report", {"n": 1}, every=HOUR, priority=2)
    world.clock.move_to(ONE)

    assert world.work() == ["completed"]

    schedule = world.queue.schedules.get("hourly")
    assert (schedule.last_triggered_at, schedule.cursor) == (ONE, ONE)
    assert schedule.last_job_id is not None
    job = world.job(schedule.last_job_id)
    assert (job.schedule, job.scheduled_for, job.payload, job.priority) == ("hourly", ONE, {"n": 1}, 2)
    assert job.created_by == "schedule:hourly"


def test_nothing_is_made_before_its_slot_and_a_poll_then_reads_nothing(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.poll()
    world.clock.move_to(ONE - timedelta(seconds=1))

    assert trigger("hourly", world.services) == []
    assert world.poll().scanned == 0


def test_a_slot_that_is_triggered_twice_makes_one_job(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.move_to(ONE)

    assert slots_of(trigger("hourly", world.services)) == [ONE]
    assert trigger("hourly", world.services) == []
    world.poll()
    assert all_jobs(world) == [ONE]


def test_a_slot_whose_job_exists_already_is_not_run_again(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, missed="all")
    world.clock.move_to(TWO)
    assert slots_of(world.queue.schedules.backfill("hourly", ONE, TWO)) == [ONE, TWO]

    trigger("hourly", world.services)

    assert all_jobs(world) == [ONE, TWO]
    assert world.queue.schedules.backfill("hourly", ONE, TWO) == []


@pytest.mark.parametrize(
    ("missed", "window", "made"),
    [("latest", HOUR, [THREE]), ("all", 24 * HOUR, [ONE, TWO, THREE]), ("all", HOUR, [THREE]), ("skip", HOUR, [])],
)
def test_slots_of_a_halt_are_made_up_for_as_the_policy_says(
    missed: str, window: timedelta, made: list[datetime], world: World
) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, missed=missed, missed_window=window, overlap="allow")
    world.operator.halt(reason="bad deploy")
    world.clock.move_to(ONE)
    assert trigger("hourly", world.services) == []
    assert all_jobs(world) == []

    world.clock.move_to(THREE + timedelta(minutes=10))
    world.operator.resume()
    world.poll()

    assert all_jobs(world) == made


def test_an_overlapping_slot_is_skipped_by_default(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.move_to(ONE)
    trigger("hourly", world.services)
    world.clock.move_to(TWO)

    assert trigger("hourly", world.services) == []

    world.work()
    world.clock.move_to(THREE)
    assert slots_of(trigger("hourly", world.services)) == [THREE]


def test_a_queued_slot_waits_for_the_job_before_it(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, missed="all")
    assert world.queue.schedules.get("hourly").overlap == "queue"
    world.clock.move_to(TWO)

    assert slots_of(trigger("hourly", world.services)) == [ONE]
    assert trigger("hourly", world.services) == []
    assert world.work() == ["completed"]
    world.clock.advance(timedelta(seconds=30))
    world.work()

    assert all_jobs(world) == [ONE, TWO]


def test_who_may_not_read_jobs_makes_what_depends_on_none_and_wakes_a_poll_for_the_rest(world: World) -> None:
    for name, overlap in (("free", "allow"), ("alone", "skip"), ("queued", "queue")):
        world.queue.schedules.create(name, "report", every=HOUR, overlap=overlap)
    world.poll()
    world.clock.move_to(ONE)
    assert [slots_of(woken(name, world)) for name in ("free", "alone", "queued")] == [[ONE]] * 3

    world.work()
    world.clock.move_to(TWO)
    assert [slots_of(woken(name, world)) for name in ("free", "alone", "queued")] == [[TWO], [], []]
    assert [wakes(name, world) for name in ("free", "alone", "queued")] == [False, True, True]

    world.poll()
    assert all_jobs(world).count(TWO) == 3
    assert not any(wakes(name, world) for name in ("free", "alone", "queued"))


def test_a_slot_that_a_poll_has_put_off_is_not_woken_for(world: World) -> None:
    world.queue.schedules.create("queued", "report", every=HOUR, overlap="queue")
    for slot in (ONE, TWO):
        world.clock.move_to(slot)
        trigger("queued", world.services)
    assert woken("queued", world) == []

    assert not wakes("queued", world)


def test_a_later_slot_is_woken_for_though_a_poll_has_put_off_one_before_it(world: World) -> None:
    world.queue.schedules.create("queued", "report", every=HOUR, overlap="queue")
    for slot in (ONE, TWO):
        world.clock.move_to(slot)
        trigger("queued", world.services)
    put_off = find("queued", world.services)
    world.store.schedules.look_again(put_off, THREE + HOUR, world.clock.now())
    world.work()
    world.clock.move_to(THREE)

    assert woken("queued", world) == []
    assert wakes("queued", world)
    world.poll()

    assert all_jobs(world) == [ONE, THREE]


def test_a_slot_that_was_seen_in_time_is_not_missed_by_a_poll_that_is_late(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, missed="skip", overlap="skip")
    world.clock.move_to(ONE)
    trigger("hourly", world.services)
    world.work()
    world.clock.move_to(TWO)
    assert woken("hourly", world) == []
    world.clock.advance(timedelta(minutes=30))

    world.poll()

    assert all_jobs(world) == [ONE, TWO]
    assert find("hourly", world.services).seen_at is None


def test_each_wake_changes_the_schedule_or_the_stream_would_not_show_it(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.move_to(ONE)
    trigger("hourly", world.services)
    world.work()
    seen = []
    for slot in (TWO, THREE):
        world.clock.move_to(slot)
        woken("hourly", world)
        seen.append(world.table.get(schedule_key("hourly")))

    assert seen[0] != seen[1]
    assert find("hourly", world.services).seen_at == TWO, "the first slot was seen in time"


def woken(name: str, world: World) -> list[JobId]:
    return trigger(name, world.services, reads_jobs=False)


def wakes(name: str, world: World) -> bool:
    record = world.table.get(schedule_key(name))
    return record is not None and "wake" in record


def test_a_type_that_is_not_deployed_any_more_is_not_asked_for_at_every_poll(world: World) -> None:
    world.queue.schedules.create("hourly", "once", every=HOUR)
    world.deploy(*(each for each in TYPES if each.name != "once"))
    world.clock.move_to(ONE)

    assert world.poll().failed == 1
    assert world.poll().scanned == 0

    world.deploy(*TYPES)
    world.clock.advance(timedelta(minutes=5))
    world.poll()
    assert all_jobs(world) == [ONE]


def test_a_pause_runs_nothing_and_what_passed_meanwhile_is_not_made_up_for(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, missed="all")
    world.queue.schedules.pause("hourly", reason="noise")
    world.clock.move_to(TWO + timedelta(minutes=1))
    assert world.poll().triggered == 0
    assert world.queue.schedules.next_runs("hourly") == []

    world.queue.schedules.resume("hourly")

    assert trigger("hourly", world.services) == []
    assert world.queue.schedules.next_runs("hourly", 1) == [THREE]
    world.clock.move_to(THREE)
    world.poll()
    assert all_jobs(world) == [THREE]


def test_a_new_plan_counts_from_its_change_and_the_same_plan_goes_on(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, overlap="allow")
    world.clock.move_to(ONE + timedelta(minutes=7))

    same = world.queue.schedules.update("hourly", payload={"n": 2})
    assert same.cursor < ONE
    other = world.queue.schedules.update("hourly", cron="*/5 * * * *", timezone="Europe/Berlin")

    assert (other.cursor, other.version) == (world.clock.now(), 3)
    assert world.queue.schedules.next_runs("hourly", 1) == [ONE + timedelta(minutes=10)]


def test_every_change_leaves_a_record_and_the_records_are_a_chain(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR, reason="we need it")
    world.clock.advance(timedelta(seconds=1))
    world.act_as("bob")
    world.queue.schedules.pause("hourly", reason="noise")
    world.clock.advance(timedelta(seconds=1))
    world.act_as("eve")
    world.queue.schedules.pause("hourly", reason="again")
    world.act_as("ada")
    world.queue.schedules.delete("hourly", reason="no longer")

    records = audits(world, "hourly")

    assert [(each["action"], each["by"], each["reason"]) for each in records] == [
        ("create", "ada", "we need it"),
        ("pause", "bob", "noise"),
        ("delete", "ada", "no longer"),
    ]
    assert [each["previous"] for each in records] == ["", records[0]["head"], records[1]["head"]]


def test_a_deleted_schedule_is_gone_and_its_name_is_free(world: World, mirror: Mirror) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.poll()
    world.queue.schedules.delete("hourly")

    with pytest.raises(ScheduleNotFoundError):
        world.queue.schedules.get("hourly")
    assert world.queue.schedules.list() == []
    again = world.queue.schedules.create("hourly", "email", every=HOUR)
    world.poll()

    assert mirror.known["hourly"].version == again.version
    world.queue.schedules.delete("hourly")
    world.poll()
    assert mirror.known == {}
    world.clock.advance(timedelta(minutes=5))  # until no call of an older version can be on its way any more
    world.poll()
    assert (world.store.schedules.get("hourly"), mirror.known) == (None, {})


def test_eventbridge_is_told_after_the_table_and_again_until_it_listens(world: World, mirror: Mirror) -> None:
    mirror.failure = "throttled"
    world.queue.schedules.create("hourly", "report", every=HOUR)

    world.poll()

    (listed,) = world.queue.schedules.list()
    assert (listed.mirror_error, listed.is_mirrored) == ("throttled", False)
    assert world.poll().scanned == 0  # not at every poll
    mirror.failure = None
    world.clock.advance(timedelta(minutes=5))
    world.poll()
    (listed,) = world.queue.schedules.list()
    assert (listed.mirror_error, listed.is_mirrored) == (None, True)
    assert mirror.known["hourly"].version == listed.version
    world.clock.advance(timedelta(minutes=5))
    assert world.poll().scanned == 1  # the second telling, after which nothing of an older version can land
    world.clock.advance(timedelta(minutes=5))
    assert world.poll().scanned == 0


@pytest.mark.parametrize("change", ["update", "pause", "delete"])
@pytest.mark.parametrize("teller", ["lives", "dies", "takes long"])
def test_a_slow_call_of_an_older_version_does_not_stay_on_top(
    world: World, mirror: Mirror, change: str, teller: str
) -> None:
    """It lands after the call of the newer version, and whoever sent it sees that, or is dead by then."""
    world.queue.schedules.create("hourly", "report", every=HOUR)
    put = mirror.put

    def slow(schedule: Schedule) -> None:
        mirror.put = put  # type: ignore[method-assign]
        match change:
            case "update":
                world.queue.schedules.update("hourly", every=2 * HOUR)
            case "pause":
                world.queue.schedules.pause("hourly", reason="noise")
            case _:
                world.queue.schedules.delete("hourly")
        world.poll()
        for _ in range(2 if teller == "takes long" else 0):
            world.clock.advance(TELL_AGAIN_AFTER)
            world.poll()
        put(schedule)
        if teller == "dies":
            raise KeyboardInterrupt

    mirror.put = slow  # type: ignore[method-assign]
    with suppress(KeyboardInterrupt):
        world.poll()
    if teller == "dies":
        assert mirror.known["hourly"].recurrence == Every(HOUR)

    for _ in range(2):
        world.clock.advance(timedelta(minutes=5))
        world.poll()

    told = {name: each.recurrence for name, each in mirror.known.items()}
    assert told == ({"hourly": Every(2 * HOUR)} if change == "update" else {})
    assert [each.is_mirrored for each in world.queue.schedules.list()] == ([] if change == "delete" else [True])


def test_slots_run_on_time_while_eventbridge_refuses(world: World, mirror: Mirror) -> None:
    mirror.failure = "throttled"
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.move_to(ONE)

    world.poll()

    assert all_jobs(world) == [ONE]


def test_eventbridge_forgets_what_is_paused_and_learns_it_again(world: World, mirror: Mirror) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.poll()
    assert list(mirror.known) == ["hourly"]

    world.queue.schedules.pause("hourly", reason="noise")
    world.poll()
    assert mirror.known == {}
    assert world.poll().scanned == 0

    world.queue.schedules.resume("hourly")
    world.poll()
    assert list(mirror.known) == ["hourly"]


def test_a_run_by_hand_is_one_a_minute_and_outside_of_the_plan(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)

    first = world.queue.schedules.trigger("hourly")

    assert world.queue.schedules.trigger("hourly") == first
    assert (world.job(first).created_by, world.job(first).schedule) == ("ada", "hourly")
    assert world.status(first) is JobStatus.PENDING
    world.clock.move_to(ONE)
    world.poll()
    assert len(all_jobs(world)) == 2


def test_a_run_by_hand_says_when_the_schedule_was_last_triggered_and_moves_no_slot(world: World) -> None:
    made = world.queue.schedules.create("hourly", "report", every=HOUR)
    world.clock.advance(timedelta(minutes=5))

    world.queue.schedules.trigger("hourly")

    seen = world.queue.schedules.get("hourly")
    assert (seen.last_triggered_at, seen.cursor) == (world.clock.now(), made.cursor)
    # A change that is made of what was read before keeps it too.
    world.queue.schedules.pause("hourly", reason="a test")
    assert world.queue.schedules.get("hourly").last_triggered_at == seen.last_triggered_at


def test_a_halt_refuses_runs_by_hand_and_backfills(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.operator.halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError):
        world.queue.schedules.trigger("hourly")
    with pytest.raises(SystemHaltedError):
        world.queue.schedules.backfill("hourly", ONE, TWO)


def definition(name: str, interval: timedelta = HOUR, job_type: str = "report") -> Schedule:
    return Schedule(name=name, job_type=job_type, payload_text="{}", recurrence=Every(interval))


def test_a_deployment_replaces_its_own_schedules_and_leaves_the_others_alone(world: World, mirror: Mirror) -> None:
    world.queue.schedules.create("mine", "report", every=HOUR)
    deploy([definition("kept"), definition("changed"), definition("gone")], world.services)
    world.queue.schedules.pause("kept", reason="noise")
    world.clock.move_to(ONE + timedelta(minutes=1))

    deploy([definition("kept"), definition("changed", job_type="email"), definition("new")], world.services)

    listed = {each.name: each for each in world.queue.schedules.list()}
    assert {name: str(each.origin) for name, each in listed.items()} == {
        "changed": "deployed",
        "kept": "deployed",
        "mine": "made",
        "new": "deployed",
    }
    assert listed["kept"].paused
    assert (listed["changed"].job_type, listed["changed"].cursor < ONE) == ("email", True)
    assert listed["new"].cursor == world.clock.now()
    world.poll()
    assert list(mirror.known) == ["mine"]  # the stacks tell EventBridge of theirs
    assert all_jobs(world) == [ONE, ONE]  # of mine, and of the changed one


def test_deploying_the_same_again_writes_nothing(world: World) -> None:
    deploy([definition("kept")], world.services)
    world.clock.advance(timedelta(minutes=1))

    deploy([definition("kept")], world.services)

    assert len(audits(world, "kept")) == 1


def test_a_deployment_that_would_take_a_name_fails_before_it_writes(world: World) -> None:
    world.queue.schedules.create("mine", "report", every=HOUR)

    with pytest.raises(ScheduleExistsError, match="mine"):
        deploy([definition("first"), definition("mine")], world.services)

    assert [each.name for each in world.queue.schedules.list()] == ["mine"]


def test_a_deployed_schedule_is_changed_where_it_comes_from(world: World) -> None:
    deploy([definition("report")], world.services)

    with pytest.raises(ScheduleDeployedError, match=r"job\.toml"):
        world.queue.schedules.update("report", every=2 * HOUR)
    with pytest.raises(ScheduleDeployedError):
        world.queue.schedules.delete("report")
    assert world.queue.schedules.get("report").origin is Origin.DEPLOYED


BAD: dict[str, tuple[type[InvalidInputError], dict[str, object]]] = {
    "no plan": (InvalidOptionError, {}),
    "two plans": (InvalidOptionError, {"every": HOUR, "cron": "0 9 * * *"}),
    "a rate in a zone": (InvalidOptionError, {"every": HOUR, "timezone": "Europe/Berlin"}),
    "half a minute": (InvalidOptionError, {"every": timedelta(seconds=30)}),
    "a number": (InvalidOptionError, {"every": 30}),
    "a bad line": (InvalidOptionError, {"cron": "0 25 * * *"}),
    "a bad zone": (InvalidOptionError, {"cron": "0 9 * * *", "timezone": "Mars/Olympus"}),
    "a bad policy": (InvalidOptionError, {"every": HOUR, "missed": "some"}),
    "a bad overlap": (InvalidOptionError, {"every": HOUR, "overlap": "maybe"}),
    "a bad window": (InvalidOptionError, {"every": HOUR, "missed_window": timedelta(days=401)}),
    "a bad priority": (InvalidOptionError, {"every": HOUR, "priority": 9}),
    "a bad name": (InvalidKeyError, {"name": "a#b", "every": HOUR}),
    "a bad reason": (InvalidOptionError, {"every": HOUR, "reason": "r" * 1025}),
    "a bad type": (UnknownJobTypeError, {"job": "nobody", "every": HOUR}),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_schedule_is_refused_by_name_and_nothing_is_written(case: str, world: World) -> None:
    error, options = BAD[case]
    given: dict[str, object] = {"name": "hourly", "job": "report", **options}

    with pytest.raises(error):
        world.queue.schedules.create(**given)  # type: ignore[arg-type]

    assert world.queue.schedules.list() == []


def test_what_is_no_option_of_a_schedule_is_refused(world: World) -> None:
    with pytest.raises(TypeError, match="paused"):
        world.queue.schedules.create("hourly", "report", every=HOUR, paused=True)  # type: ignore[call-arg]
    made = world.queue.schedules.create("hourly", "report", every=HOUR)

    with pytest.raises(TypeError, match="version"):
        world.queue.schedules.update("hourly", version=7)  # type: ignore[call-arg]

    assert world.queue.schedules.get("hourly") == made


def test_a_second_schedule_of_one_name_is_refused(world: World) -> None:
    world.queue.schedules.create("hourly", "report", every=HOUR)

    with pytest.raises(ScheduleExistsError, match="hourly"):
        world.queue.schedules.create("hourly", "report", every=HOUR)
    with pytest.raises(ScheduleNotFoundError, match="daily"):
        world.queue.schedules.update("daily", every=HOUR)


NEVER = Cron("30 2 * 3 7L", "Europe/Berlin", InTheGap.SKIP)


def test_a_schedule_that_never_comes_due_is_not_made(world: World) -> None:
    with pytest.raises(InvalidOptionError, match="never comes due"):
        world.queue.schedules.create("lost", "report", cron=NEVER.line, timezone=NEVER.timezone, on_dst_gap="skip")

    assert world.queue.schedules.list() == []


def test_one_that_is_there_already_is_looked_at_once_and_never_again(world: World) -> None:
    deploy([Schedule(name="lost", job_type="report", payload_text="{}", recurrence=NEVER)], world.services)
    world.queue.schedules.create("hourly", "report", every=HOUR)
    world.services.store.schedules.look_again(find("lost", world.services), world.clock.now(), world.clock.now())

    assert world.poll().failed == 0
    assert find("lost", world.services).due_key is None
    world.clock.advance(HOUR)
    assert world.poll().triggered == 1
