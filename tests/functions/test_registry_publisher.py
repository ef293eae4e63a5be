"""The custom resource of a deployment: it writes the registry, and the schedules of the job.toml files."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, Registry
from leasehold.functions import registry_publisher as handler
from leasehold.kernel.errors import StoreError
from leasehold.kernel.registry_records import registry_record
from leasehold.operate.registration import publish
from leasehold.schedules.model import ScheduleExistsError
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from leasehold import Queue
    from leasehold.kernel.services import Services

pytestmark = pytest.mark.dynoxide

BACKUP = {
    "job_type": "backup",
    "payload": "{}",
    "every": 1800,
    "enabled": True,
    "missed": "latest",
    "missed_window": 86400,
    "overlap": "skip",
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    given: list[str] = []
    monkeypatch.setattr("leasehold.functions.registry_publisher._answer", lambda *answer: given.append(answer[1]))
    return given


def deployment(request_type: str, **schedules: dict[str, Any]) -> dict[str, Any]:
    registry = Registry(types={"backup": JobType(name="backup")})
    return {
        "RequestType": request_type,
        "ResourceProperties": {
            "Registry": json.dumps(registry_record(registry)),
            "Schedules": json.dumps(schedules),
        },
    }


def test_a_deployment_makes_its_schedules_changes_them_and_takes_them_away(queue: Queue, answers: list[str]) -> None:
    handler.lambda_handler(deployment("Create", backup=BACKUP), FakeContext())
    first = queue.schedules.get("backup")
    handler.lambda_handler(deployment("Update", backup={**BACKUP, "overlap": "allow"}), FakeContext())
    second = queue.schedules.get("backup")

    assert (first.overlap, second.overlap) == ("skip", "allow")
    assert (first.origin, second.version, second.cursor) == ("deployed", 2, first.cursor)
    handler.lambda_handler(deployment("Delete", backup=BACKUP), FakeContext())
    assert [each.name for each in queue.schedules.list()] == ["backup"]
    handler.lambda_handler(deployment("Update"), FakeContext())
    assert queue.schedules.list() == []
    assert answers == ["SUCCESS"] * 4


def test_a_deployment_fails_if_a_name_is_taken_by_a_schedule_made_at_run_time(queue: Queue, answers: list[str]) -> None:
    queue.schedules.create("backup", "daily_summary", cron="0 9 * * *")

    with pytest.raises(ScheduleExistsError, match="backup"):
        handler.lambda_handler(deployment("Update", backup=BACKUP), FakeContext())

    assert answers == ["FAILED"]
    assert queue.schedules.get("backup").job_type == "daily_summary"


def test_a_type_that_is_not_deployed_any_more_is_said_with_the_jobs_that_wait_for_it(
    queue: Queue, answers: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for hours in (1, 2):
        queue.enqueue("daily_summary", {}, run_in=timedelta(hours=hours))

    with caplog.at_level("INFO"):
        handler.lambda_handler(deployment("Update"), FakeContext())

    (said,) = [each for each in caplog.records if "type_not_deployed" in each.getMessage()]
    assert (said.job_type, said.waiting) == ("daily_summary", 2)  # type: ignore[attr-defined]
    assert answers == ["SUCCESS"]


def test_rights_that_iam_does_not_show_yet_are_waited_for(
    queue: Queue, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CloudFormation calls the publisher seconds after it has made its role."""
    waits: list[float] = []
    denials = iter([True, True, False])

    def too_early(registry: Registry, services: Services) -> None:
        if next(denials):
            raise StoreError("PutItem on table 'jobs' failed: AccessDeniedException: not authorized")
        publish(registry, services)

    monkeypatch.setattr(handler, "publish", too_early)
    monkeypatch.setattr(time, "sleep", waits.append)
    handler.lambda_handler(deployment("Create"), FakeContext())

    assert (waits, answers) == ([1, 2], ["SUCCESS"])
    assert "backup" in queue.services.deployment.registry().types
