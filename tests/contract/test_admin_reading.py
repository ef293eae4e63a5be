"""What surfaces read besides lists of jobs, on every store."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, NonRetryableError
from leasehold.admin import documents
from leasehold.admin.job_documents import (
    dead_letter_document,
    group_document,
    job_summary,
    template_document,
)
from leasehold.admin.others import DeadLetterFilter
from leasehold.admin.pages import InvalidCursorError
from leasehold.admin.reading import Reader
from leasehold.kernel.errors import InvalidJobIdError, InvalidOptionError, JobNotFoundError
from leasehold.schedules.model import ScheduleNotFoundError
from tests.contract.grouping import jobs as members
from tests.contract.population import all_jobs, populate

if TYPE_CHECKING:
    from tests.contract.world import World


def counted(reader: Reader, status: JobStatus) -> int:
    found: int = json.loads(json.dumps(reader.counts()))["statuses"][status]["total"]["value"]
    return found


def test_one_job_is_shown_with_its_runs_its_timeline_and_its_dead_letter(world: World) -> None:
    world.script.then(RuntimeError("not yet"), NonRetryableError("never"))
    job_id = world.queue.enqueue("report", {"n": 3}).job_id
    world.work_until_ended(job_id)

    shown = json.loads(json.dumps(Reader(world.services).job(job_id)))

    assert (shown["status"], shown["state"], shown["attempts"]) == ("dead_letter", "FAILED", 2)
    assert [run["run_id"] for run in shown["runs"]] == [f"{job_id}.1", f"{job_id}.2"]
    events = [moment["event"] for moment in shown["timeline"]]
    assert events == ["created", "started", "failed", "started", "failed", "dead_letter"]
    assert shown["dead_letter"]["is_open"] is True
    assert "never" in shown["dead_letter"]["traceback"]


def test_a_run_is_found_by_its_id(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.work()
    reader = Reader(world.services)

    assert reader.run(f"{job_id}.1")["attempt"] == 1
    with pytest.raises(JobNotFoundError):
        reader.run(f"{job_id}.2")
    for bad in (job_id, f"{job_id}.", "1", f"{job_id}.x"):
        with pytest.raises(InvalidJobIdError):
            reader.run(bad)


def test_open_dead_letters_are_listed_by_when_they_failed_the_newest_first(world: World) -> None:
    dead = []
    for n in range(5):
        world.script.then(NonRetryableError("never"))
        dead.append(world.queue.enqueue(("once", "report")[n % 2]).job_id)
        world.work()
        world.clock.advance(timedelta(minutes=1))
    world.operator.discard(dead[4], reason="known")
    reader = Reader(world.services)

    first = reader.dead_letters(limit=2)
    second = reader.dead_letters(limit=2, cursor=first.cursor)
    of_type = reader.dead_letters(
        DeadLetterFilter(job_type="once", failed_from=world.clock.now() - timedelta(minutes=4))
    )

    assert [dead_letter.id for dead_letter in [*first.items, *second.items]] == dead[3::-1]
    assert [dead_letter.id for dead_letter in of_type.items] == [dead[2]]
    assert world.operator.dead_letter(dead[4]).resolved_reason == "known"
    json.dumps(documents.page_document(first, dead_letter_document))
    with pytest.raises(InvalidCursorError):
        reader.dead_letters(DeadLetterFilter(job_type="once"), cursor=first.cursor)


def test_schedules_come_with_their_next_runs_and_templates_by_name(world: World) -> None:
    for name in ("c", "a", "b"):
        world.queue.schedules.create(name, "report", every=timedelta(hours=1))
        world.queue.templates.create(f"t-{name}", "report", {"n": 1})
    world.queue.schedules.pause("b", reason="not now")
    reader = Reader(world.services)

    first = reader.schedules(limit=2)
    second = reader.schedules(limit=2, cursor=first.cursor)

    listed = [*first.items, *second.items]
    assert [each.name for each in listed] == ["a", "b", "c"]
    shown = json.loads(json.dumps([reader.schedule(each, next_runs=1) for each in listed]))
    assert [len(each["next_runs"]) for each in shown] == [1, 0, 1]
    assert len(json.loads(json.dumps(reader.schedule("a", next_runs=3)))["next_runs"]) == 3
    assert [each.name for each in reader.templates().items] == ["t-a", "t-b", "t-c"]
    json.dumps([template_document(each) for each in reader.templates().items])
    with pytest.raises(ScheduleNotFoundError):
        reader.schedule("nobody")
    with pytest.raises(InvalidOptionError):
        reader.schedule("a", next_runs=-1)


def test_groups_are_listed_the_newest_first(world: World) -> None:
    for name in ("first", "second", "third"):
        world.queue.groups.create(members(2), group_id=name)
        world.clock.advance(timedelta(seconds=1))
    reader = Reader(world.services)

    page = reader.groups(limit=2)
    rest = reader.groups(limit=2, cursor=page.cursor)

    assert [group.group_id for group in [*page.items, *rest.items]] == ["third", "second", "first"]
    assert group_document(world.queue.groups.get("first"))["left"] == 2


def test_control_shows_what_is_stopped_by_whom_and_why(world: World) -> None:
    world.operator.pause("email", reason="wrong letters")
    world.operator.halt(reason="all wrong")

    shown = json.loads(json.dumps(Reader(world.services).control()))

    assert shown["halt"]["reason"] == "all wrong"
    assert shown["pauses"]["email"]["by"] == "ada"
    assert "report" in shown["types"]


def test_counts_are_those_of_the_jobs_that_are_there(world: World) -> None:
    jobs = populate(world)

    counts = json.loads(json.dumps(Reader(world.services).counts()))

    for status in JobStatus:
        there = sum(job.status is status for job in jobs)
        assert counts["statuses"][status]["total"] == {"value": there, "is_exact": True}, status
    assert counts["dead_letters"]["value"] == sum(job.status is JobStatus.DEAD_LETTER for job in jobs)


def test_the_last_hour_counts_every_end_in_its_minute(world: World) -> None:
    for _ in range(3):
        world.queue.enqueue("report")
        world.clock.advance(timedelta(seconds=20))
        world.work()
    world.clock.advance(timedelta(minutes=10))
    world.queue.cancel(world.queue.enqueue("email", run_in=timedelta(days=1)).job_id, reason="no")
    reader = Reader(world.services)

    hour = json.loads(json.dumps(reader.last_hour()))

    ends = [minute["ended"] for minute in hour["minutes"] if minute["ended"]]
    assert ends == [{"completed": 2}, {"completed": 1}, {"cancelled": 1}]
    assert (hour["lateness"]["sample"], hour["lateness"]["median"]) == (3, 20)
    assert hour["complete_since"] == hour["start"]
    json.dumps(reader.backlog())


def test_figures_are_read_again_after_a_while(world: World) -> None:
    reader = Reader(world.services)
    assert counted(reader, JobStatus.PENDING) == 0

    world.queue.enqueue("report", run_in=timedelta(hours=1))

    assert counted(reader, JobStatus.PENDING) == 0
    world.clock.advance(timedelta(seconds=15))
    assert counted(reader, JobStatus.PENDING) == 1


def test_every_job_has_a_summary_and_a_document_that_json_can_say(world: World) -> None:
    populate(world)

    for job in all_jobs(world):
        assert json.loads(json.dumps(job_summary(job)))["job_id"] == job.job_id
        json.dumps(Reader(world.services).job(job.job_id))
    held = [job_summary(job)["held_by"] for job in all_jobs(world) if job.is_held]
    assert {"email", "limited", "keyed#tenant-1"} == set(held)
