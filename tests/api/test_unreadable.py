"""One damaged record hides nothing else: every listing shows what can be read, and a word about what cannot."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob
from leasehold.groups.records import group_key
from leasehold.kernel import keys, partitions
from leasehold.kernel.errors import RecordUnreadableError
from leasehold.kernel.table import Update
from leasehold.schedules.records import schedule_key
from leasehold.telemetry import Event
from leasehold.templates.records import template_key
from tests.api.world import Api, Things, furnished, in_memory

if TYPE_CHECKING:
    from leasehold.kernel.table import Key
    from leasehold.testing import LeaseholdTest


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


@pytest.fixture
def things(test: LeaseholdTest) -> Things:
    return furnished(test)


def damage(test: LeaseholdTest, key: Key, **sets: Any) -> None:
    """Write what nobody but a hand on the table would."""
    test.services.store.table.write(Update(key=key, conditions=(), sets=sets))


def listed(test: LeaseholdTest, route: str, query: str = "") -> tuple[int, list[str]]:
    """How many things a listing shows, and the keys of those that it cannot show."""
    answer = Api(test.services).send(f"GET {route}", query=query)
    assert answer.status == 200, answer.body
    return len(answer.body["items"]), [each["key"] for each in answer.body["unreadable"]]


@pytest.mark.parametrize("sets", [{"status": "lost"}, {"payload": 7}, {"created_at": "yesterday"}, {"runs": "x"}])
def test_a_damaged_job_is_a_line_of_its_own_in_the_list(
    test: LeaseholdTest, things: Things, sets: dict[str, Any]
) -> None:
    all_jobs, nothing = listed(test, "/api/jobs")
    assert nothing == []
    damage(test, keys.job(things.completed), **sets)  # type: ignore[arg-type]

    shown, unreadable = listed(test, "/api/jobs")

    if sets == {"payload": 7}:
        # Its payload is not part of a list.
        assert (shown, unreadable) == (all_jobs, [])
        assert Api(test.services).send(f"GET /api/jobs/{things.completed}").body["payload"] == {"$missing": True}
    else:
        assert shown == all_jobs - 1
        assert [things.completed in key for key in unreadable] == [True]
        answer = Api(test.services).send(f"GET /api/jobs/{things.completed}")
        assert (answer.status, answer.code) == (422, "record_unreadable")


def test_a_damaged_member_does_not_hide_its_group(test: LeaseholdTest) -> None:
    group = test.queue.groups.create([NewJob(job="report"), NewJob(job="report")])
    damage(test, keys.job(test.queue.groups.get(group.group_id).member_id(0)), priority="high")

    shown, unreadable = listed(test, f"/api/groups/{group.group_id}/members")

    assert (shown, len(unreadable)) == (1, 1)
    assert len(test.queue.groups.members(group.group_id).jobs) == 1


@pytest.mark.parametrize(
    "sets", [{"failed_at": "never"}, {"failure_reason": 5}, {"attempts": "many"}, {"resolution": "eaten"}]
)
def test_a_damaged_dead_letter_hides_no_other(test: LeaseholdTest, things: Things, sets: dict[str, Any]) -> None:
    other = test.queue.enqueue("errand", {"do": "fail"}).job_id
    test.drain()
    damage(test, partitions.dead_letter(things.dead), **sets)  # type: ignore[arg-type]

    assert listed(test, "/api/dead-letters") == (1, [things.dead])
    assert [each.id for each in test.operator.dead_letters()] == [other]
    with pytest.raises(RecordUnreadableError, match="repair or delete it in the table"):
        test.operator.dead_letter(things.dead)


def test_a_dead_letter_whose_payload_is_no_json_is_shown_without_it(test: LeaseholdTest, things: Things) -> None:
    damage(test, partitions.dead_letter(things.dead), payload="[" * 100_000)  # type: ignore[arg-type]

    assert listed(test, "/api/dead-letters") == (1, [])
    answer = Api(test.services).send(f"GET /api/dead-letters/{things.dead}")
    assert (answer.status, answer.body["payload"]) == (200, {"$unreadable": True})


def test_damaged_schedules_templates_and_groups_hide_no_others(test: LeaseholdTest, things: Things) -> None:
    test.queue.schedules.create("daily", "report", every=timedelta(days=1))
    test.queue.templates.create("weekly", "report", {"do": "answer"})
    other = test.queue.groups.create([NewJob(job="report")]).group_id
    damage(test, schedule_key("hourly"), cron="at dawn", every=None)
    damage(test, template_key("nightly"), priority=99)
    damage(test, group_key(things.group), mode="square")

    assert listed(test, "/api/schedules") == (1, ["schedule hourly"])
    assert [each.name for each in test.queue.schedules.list()] == ["daily"]
    assert [key.endswith("nightly") for key in listed(test, "/api/templates")[1]] == [True]
    assert [each.name for each in test.queue.templates.list()] == ["weekly"]
    assert [things.group in key for key in listed(test, "/api/groups")[1]] == [True]
    assert [each.group_id for each in test.queue.groups.list()] == [other]


def test_the_sdk_logs_what_it_leaves_out(test: LeaseholdTest, things: Things) -> None:
    damage(test, partitions.dead_letter(things.dead), failed_at="never")  # type: ignore[arg-type]

    assert list(test.operator.dead_letters()) == []

    (told,) = test.telemetry.of(Event.RECORD_UNREADABLE)
    assert told["key"] == things.dead
