"""Schedules of templates on every store: a slot's job is made from the template as it is when the slot comes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Operator, Priority, Queue
from leasehold.kernel.errors import InvalidOptionError, InvalidPayloadError
from leasehold.kernel.services import Services
from leasehold.schedules.model import Schedule
from leasehold.schedules.recurrence import Every
from leasehold.schedules.trigger import trigger
from leasehold.schedules.verbs import deploy
from leasehold.telemetry import Event
from leasehold.templates.model import UnknownTemplateError
from leasehold.testing import SeededRandomSource
from tests.contract.test_schedules import ONE, TWO, all_jobs

if TYPE_CHECKING:
    from leasehold import Job
    from tests.contract.world import World

HOUR = timedelta(hours=1)
HOOK = "https://example.com/hooks/jobs"


def latest(world: World, schedule: str = "hourly") -> Job:
    job_id = world.queue.schedules.get(schedule).last_job_id
    assert job_id is not None
    return world.job(job_id)


@pytest.fixture
def hourly(world: World) -> Schedule:
    world.queue.templates.create("nightly", "report", {"to": "ada", "n": 1}, priority=0, webhook=HOOK)
    return world.queue.schedules.create("hourly", template="nightly", payload={"n": 2}, every=HOUR, overlap="allow")


def test_the_job_of_a_slot_is_the_schedules_payload_laid_over_the_templates(world: World, hourly: Schedule) -> None:
    assert (hourly.job_type, hourly.template) == ("report", "nightly")
    world.clock.move_to(ONE)

    assert world.poll().triggered == 1

    job = latest(world)
    assert (job.job_type, job.payload, job.template) == ("report", {"to": "ada", "n": 2}, "nightly")
    assert (job.priority, job.webhook, job.schedule) == (Priority.LOW, HOOK, "hourly")


def test_a_change_of_the_template_counts_from_the_next_slot_on_without_delay(world: World, hourly: Schedule) -> None:
    world.clock.move_to(ONE)
    trigger("hourly", world.services)
    elsewhere = Services(store=world.store, clock=world.clock, random_source=SeededRandomSource(99))
    world.clock.move_to(TWO - timedelta(seconds=1))
    world.queue.enqueue(template="nightly")  # this process has just read it

    Queue(elsewhere).templates.update("nightly", payload={"to": "bob"})
    first = latest(world)
    world.clock.move_to(TWO)
    trigger("hourly", world.services)

    assert (first.payload, latest(world).payload) == ({"to": "ada", "n": 2}, {"to": "bob", "n": 2})


def test_the_schedules_own_priority_wins(world: World, hourly: Schedule) -> None:
    world.queue.schedules.update("hourly", priority=2)
    world.clock.move_to(ONE)
    world.poll()

    assert latest(world).priority is Priority.HIGH


def test_runs_by_hand_and_backfills_come_from_the_template_too(world: World, hourly: Schedule) -> None:
    world.clock.move_to(TWO)

    by_hand = world.queue.schedules.trigger("hourly")
    made = world.queue.schedules.backfill("hourly", ONE, TWO)

    assert [world.job(each).payload for each in (by_hand, *made)] == [{"to": "ada", "n": 2}] * 3


def deployed_schedule(template: str = "nightly", *, job_type: str = "report") -> Schedule:
    return Schedule(name=job_type, job_type=job_type, payload_text='{"n":2}', recurrence=Every(HOUR), template=template)


def test_a_template_that_is_missing_is_said_and_asked_for_again_and_no_slot_is_lost(world: World) -> None:
    deploy([deployed_schedule()], world.services)
    world.clock.move_to(ONE)

    assert world.poll().failed == 1
    (failed,) = world.recorder.of(Event.ENTRY_FAILED)
    assert (failed["error_code"], "nightly" in str(failed["error"])) == ("unknown_template", True)
    assert world.poll().scanned == 0  # not at every poll
    world.queue.templates.create("nightly", "report", {"to": "ada"})
    world.clock.advance(timedelta(minutes=5))
    world.poll()

    assert all_jobs(world) == [ONE]
    assert latest(world, "report").payload == {"to": "ada", "n": 2}


def test_a_template_of_another_type_is_said_likewise(world: World) -> None:
    world.queue.templates.create("nightly", "email")
    deploy([deployed_schedule()], world.services)
    world.clock.move_to(ONE)

    assert world.poll().failed == 1
    (failed,) = world.recorder.of(Event.ENTRY_FAILED)
    assert failed["error_code"] == "invalid_option"
    assert world.poll().scanned == 0
    world.queue.templates.create("right", "report")
    deploy([deployed_schedule("right")], world.services)
    world.poll()
    assert all_jobs(world) == [ONE]


def test_a_run_by_hand_without_the_template_is_refused(world: World) -> None:
    deploy([deployed_schedule()], world.services)

    with pytest.raises(UnknownTemplateError):
        world.queue.schedules.trigger("report")
    with pytest.raises(UnknownTemplateError):
        world.queue.schedules.backfill("report", ONE, TWO)


def test_a_halt_leaves_the_slots_of_a_template_to_be_made_up_for(world: World, hourly: Schedule) -> None:
    Operator(world.services).halt(reason="bad deploy")
    world.clock.move_to(TWO)
    assert trigger("hourly", world.services) == []
    Operator(world.services).resume()
    world.poll()

    assert all_jobs(world) == [TWO]


def test_a_schedule_of_a_template_is_checked_when_it_is_made(world: World) -> None:
    world.queue.templates.create("nightly", "report", {"to": "ada"})
    schedules = world.queue.schedules

    with pytest.raises(UnknownTemplateError, match="nightly"):
        schedules.create("s", template="nihgtly", every=HOUR)
    with pytest.raises(InvalidOptionError, match="makes report jobs"):
        schedules.create("s", "email", template="nightly", every=HOUR)
    with pytest.raises(InvalidPayloadError, match="cannot be merged"):
        schedules.create("s", template="nightly", payload=[1], every=HOUR)
    assert schedules.list() == []
    assert schedules.create("s", "report", template="nightly", every=HOUR).template == "nightly"


def test_a_schedule_can_be_given_a_template_or_another_one(world: World) -> None:
    world.queue.templates.create("nightly", "report")
    world.queue.templates.create("mail", "email", {"to": "ada"})
    world.queue.schedules.create("hourly", "report", every=HOUR)

    assert world.queue.schedules.update("hourly", template="nightly").job_type == "report"
    changed = world.queue.schedules.update("hourly", template="mail")

    assert (changed.job_type, changed.template, changed.version) == ("email", "mail", 3)
    with pytest.raises(InvalidOptionError, match="makes email jobs"):
        world.queue.schedules.update("hourly", job="report")
    world.clock.move_to(datetime(2026, 1, 1, 1, tzinfo=UTC))
    world.poll()
    assert latest(world).payload == {"to": "ada"}
