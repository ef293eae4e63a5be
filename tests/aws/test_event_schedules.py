"""What EventBridge Scheduler is told, call by call."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from leasehold.aws.event_schedules import EventSchedules, mirror_of
from leasehold.aws.settings import Settings
from leasehold.schedules.model import Schedule
from leasehold.schedules.recurrence import Cron, Every
from leasehold.schedules.trigger import MirrorError

SCHEDULE = Schedule(
    name="backup", job_type="backup", payload_text="{}", recurrence=Cron("0 9 * * 1", "Europe/Berlin"), version=3
)


class FakeScheduler:
    def __init__(self, **failures: str) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.failures = failures
        self.calls: list[str] = []

    def update_schedule(self, **request: Any) -> None:
        self._answer("update_schedule", "ResourceNotFoundException", request["Name"] not in self.known)
        self.known[request["Name"]] = request

    def create_schedule(self, **request: Any) -> None:
        self._answer("create_schedule", "ConflictException", request["Name"] in self.known)
        self.known[request["Name"]] = request

    def delete_schedule(self, **request: Any) -> None:
        self._answer("delete_schedule", "ResourceNotFoundException", request["Name"] not in self.known)
        del self.known[request["Name"]]

    def _answer(self, operation: str, code: str, is_refused: bool) -> None:
        self.calls.append(operation)
        if operation in self.failures:
            raise ClientError({"Error": {"Code": self.failures[operation], "Message": "no"}}, operation)
        if is_refused:
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


def mirror(client: FakeScheduler) -> EventSchedules:
    return EventSchedules(
        lambda: client,  # type: ignore[arg-type, return-value]
        group="leasehold-dev",
        function_arn="arn:function",
        role_arn="arn:role",
    )


def test_a_schedule_is_created_and_then_updated():
    client = FakeScheduler()

    mirror(client).put(SCHEDULE)
    mirror(client).put(SCHEDULE)

    assert client.calls == ["update_schedule", "create_schedule", "update_schedule"]
    told = client.known["backup"]
    assert (told["ScheduleExpression"], told["ScheduleExpressionTimezone"]) == ("cron(0 9 ? * MON *)", "Europe/Berlin")
    assert (told["GroupName"], told["Target"]["Arn"], told["Target"]["RoleArn"]) == (
        "leasehold-dev",
        "arn:function",
        "arn:role",
    )
    assert json.loads(told["Target"]["Input"]) == {"source": "leasehold.schedule", "schedule": "backup"}
    assert told["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"] >= 60


@pytest.mark.parametrize(
    "schedule",
    [
        replace(SCHEDULE, paused=True),
        replace(SCHEDULE, enabled=False),
        replace(SCHEDULE, recurrence=Every(timedelta(minutes=7))),
    ],
    ids=["paused", "disabled", "what EventBridge cannot say"],
)
def test_what_shall_not_wake_is_not_there(schedule):
    client = FakeScheduler()
    mirror(client).put(SCHEDULE)

    mirror(client).put(schedule)
    mirror(client).put(schedule)

    assert client.known == {}


def test_a_refusal_is_an_error_of_ours_that_says_what_was_refused():
    with pytest.raises(MirrorError, match=r"update_schedule of backup.*ThrottlingException"):
        mirror(FakeScheduler(update_schedule="ThrottlingException")).put(SCHEDULE)


def test_a_long_name_is_shortened_to_one_of_its_own():
    client = FakeScheduler()
    for dead_letter in "ab":
        mirror(client).put(replace(SCHEDULE, name="n" * 63 + dead_letter))

    assert len(client.known) == 2
    assert all(len(name) <= 64 for name in client.known)


def test_without_a_group_nobody_is_told():
    settings = Settings(jobs_table="j", dead_letters_table="d")

    assert mirror_of(settings) is None
    assert mirror_of(replace(settings, schedule_group="g", schedule_function="f", schedule_role="r")) is not None
