"""Templates on every store: named presets, each change committed with its record."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Fixed, Priority
from leasehold.kernel.table import JOBS
from leasehold.templates.model import TemplateExistsError, TemplateInUseError, UnknownTemplateError

if TYPE_CHECKING:
    from leasehold.kernel.table import Record
    from tests.contract.world import World

HOOK = "https://example.com/hooks/jobs"
RETRY = Fixed(timedelta(seconds=7))
HOUR = timedelta(hours=1)


def audits(world: World, name: str) -> list[Record]:
    return world.table.query(JOBS, f"audit#template#{name}", limit=100).records


def test_a_template_is_read_back_as_it_was_made(world: World) -> None:
    made = world.queue.templates.create(
        "nightly",
        "report",
        {"to": "ada"},
        priority=0,
        max_attempts=7,
        retry=RETRY,
        webhook=HOOK,
        description="Sent at night",
    )

    found = world.queue.templates.get("nightly")
    assert (found, found.audit_head) == (made, made.audit_head)
    assert (found.job_type, found.payload, found.priority, found.max_attempts) == (
        "report",
        {"to": "ada"},
        Priority.LOW,
        7,
    )
    assert (found.retry, found.webhook, found.description) == (RETRY, HOOK, "Sent at night")
    assert (found.created_by, found.created_at, found.version) == ("ada", world.clock.now(), 1)


def test_templates_are_listed_by_name_whole_pages_of_them(world: World) -> None:
    names = [f"t{number:03}" for number in range(101)]
    for name in reversed(names):
        world.queue.templates.create(name, "report")

    assert [template.name for template in world.queue.templates.list()] == names


def test_an_update_changes_what_is_passed_and_leaves_the_rest(world: World) -> None:
    world.queue.templates.create("nightly", "report", {"to": "ada"}, priority=0, webhook=HOOK)

    world.queue.templates.update("nightly", payload={"cc": "bob"}, max_attempts=2)

    found = world.queue.templates.get("nightly")
    assert (found.payload, found.max_attempts, found.priority, found.webhook) == ({"cc": "bob"}, 2, 0, HOOK)
    assert (found.version, found.job_type) == (2, "report")


def test_an_option_can_be_left_to_the_job_type_again(world: World) -> None:
    world.queue.templates.create("nightly", "report", {"to": "ada"}, priority=0, webhook=HOOK)

    found = world.queue.templates.update("nightly", remove=["payload", "priority"], max_attempts=2)

    assert (found.payload, found.priority, found.webhook, found.max_attempts) == ({}, None, HOOK, 2)
    assert world.queue.templates.get("nightly") == found


def test_every_change_leaves_a_record_and_the_records_are_a_chain(world: World) -> None:
    world.queue.templates.create("nightly", "report", reason="we need it")
    world.clock.advance(timedelta(seconds=1))
    world.act_as("bob")
    world.queue.templates.update("nightly", priority=3, reason="urgent")
    world.act_as("eve")
    world.queue.templates.update("nightly", priority=3, reason="changes nothing")
    world.clock.advance(timedelta(seconds=1))
    head = world.queue.templates.get("nightly").audit_head
    world.act_as("ada")
    world.queue.templates.delete("nightly", reason="no longer")

    records = audits(world, "nightly")

    assert [(each["action"], each["by"], each["reason"]) for each in records] == [
        ("create", "ada", "we need it"),
        ("update", "bob", "urgent"),
        ("delete", "ada", "no longer"),
    ]
    assert [each["previous"] for each in records] == ["", records[0]["head"], head]


def test_a_deleted_template_is_gone_and_its_name_is_free(world: World) -> None:
    world.queue.templates.create("nightly", "report", {"to": "ada"})
    world.queue.templates.delete("nightly")

    assert world.queue.templates.list() == []
    with pytest.raises(UnknownTemplateError):
        world.queue.templates.delete("nightly")
    assert world.queue.templates.create("nightly", "email").job_type == "email"


def test_a_change_of_what_was_deleted_and_made_anew_meanwhile_is_decided_anew(world: World) -> None:
    """Both are version 1, so the version alone would not tell them apart."""
    seen = world.queue.templates.create("nightly", "report", {"of": "the old one"})
    world.clock.advance(timedelta(seconds=1))
    world.queue.templates.delete("nightly")
    world.queue.templates.create("nightly", "email", {"of": "the new one"})
    get, reads = world.store.templates.get, [seen]

    def stale(name: str) -> object:
        return reads.pop() if reads else get(name)

    world.store.templates.get = stale  # type: ignore[assignment, method-assign]
    changed = world.queue.templates.update("nightly", priority=3)

    assert (changed.job_type, changed.payload, changed.version) == ("email", {"of": "the new one"}, 2)


def test_a_template_that_a_schedule_needs_is_neither_deleted_nor_given_another_type(world: World) -> None:
    world.queue.templates.create("nightly", "report")
    world.queue.schedules.create("one", template="nightly", every=HOUR)
    world.queue.schedules.create("two", template="nightly", every=HOUR)
    world.queue.schedules.pause("two", reason="noise")

    with pytest.raises(TemplateInUseError, match=r"delete template 'nightly'.* one, two\.") as refused:
        world.queue.templates.delete("nightly")
    assert refused.value.schedules == ("one", "two")
    with pytest.raises(TemplateInUseError, match="change the job type"):
        world.queue.templates.update("nightly", job="email")

    for name in ("one", "two"):
        world.queue.schedules.delete(name)
    assert world.queue.templates.update("nightly", job="email").job_type == "email"
    world.queue.templates.delete("nightly")


def test_what_is_no_option_of_a_template_is_refused(world: World) -> None:
    with pytest.raises(TypeError, match="version"):
        world.queue.templates.create("nightly", "report", version=7)  # type: ignore[call-arg]
    made = world.queue.templates.create("nightly", "report")

    with pytest.raises(TypeError, match="created_by"):
        world.queue.templates.update("nightly", created_by="somebody")  # type: ignore[call-arg]

    assert world.queue.templates.get("nightly") == made


def test_a_second_template_of_one_name_is_refused(world: World) -> None:
    world.queue.templates.create("nightly", "report", {"to": "ada"})

    with pytest.raises(TemplateExistsError, match="nightly"):
        world.queue.templates.create("nightly", "report")
    assert world.queue.templates.get("nightly").payload == {"to": "ada"}


def test_a_name_that_is_not_there_says_what_comes_close(world: World) -> None:
    world.queue.templates.create("nightly", "report")

    for call in (world.queue.templates.get, world.queue.templates.update, world.queue.templates.delete):
        with pytest.raises(UnknownTemplateError, match=r"got 'nihgtly'\. Did you mean nightly\?"):
            call("nihgtly")
    with pytest.raises(UnknownTemplateError, match=r"queue\.templates\.list"):
        world.queue.templates.get("something-else")
