"""The function that EventBridge wakes at the slots of schedules, on a real DynamoDB engine."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from leasehold.aws.names import wake_event
from leasehold.functions import schedule_trigger as handler
from leasehold.kernel.keys import scheduled_for_of
from leasehold.kernel.registry import Deployment
from leasehold.schedules.records import schedule_key
from leasehold.testing import FakeClock
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold import Operator, Queue
    from leasehold.kernel.keys import JobId

pytestmark = pytest.mark.dynoxide

WAKE = json.loads((Path(__file__).parent.parent.parent / "events" / "schedule_trigger.json").read_text())
HALF_AN_HOUR = timedelta(minutes=30)


@pytest.fixture
def clock(queue: Queue) -> Iterator[FakeClock]:
    """The function's own time, and the queue's: it stands at a slot of the schedule `backup`."""
    clock = FakeClock()
    queue.services.clock = clock
    queue.schedules.create("backup", "daily_summary", {"user_id": "u1"}, every=HALF_AN_HOUR)
    handler._container.cache_clear()
    services = handler._container().services
    services.clock = clock
    services.deployment = Deployment(services.store, clock)
    clock.advance(HALF_AN_HOUR)
    yield clock
    handler._container.cache_clear()


def woken(name: str = "backup") -> list[JobId]:
    """The jobs that a wake makes."""
    return cast("list[JobId]", handler.lambda_handler({**WAKE, "schedule": name}, FakeContext())["made"])


def test_the_sample_is_what_eventbridge_is_told_to_send() -> None:
    assert json.loads(wake_event("backup")) == WAKE


def test_a_wake_that_is_delivered_twice_makes_one_job(queue: Queue, clock: FakeClock) -> None:
    (job_id,) = woken()
    assert woken() == []

    job = queue.get(job_id)
    assert (job.schedule, job.scheduled_for, job.payload) == ("backup", clock.now(), {"user_id": "u1"})


def test_a_halt_makes_none_and_the_latest_slot_is_made_up_for_after_it(
    queue: Queue, operator: Operator, clock: FakeClock
) -> None:
    operator.halt(reason="bad deploy")
    assert woken() == []
    clock.advance(HALF_AN_HOUR * 3)
    assert woken() == []

    operator.resume()
    clock.advance(timedelta(seconds=5))
    (job_id,) = woken()

    assert scheduled_for_of(job_id) == clock.now() - timedelta(seconds=5)
    assert woken() == []


def test_a_wake_for_a_schedule_that_is_gone_does_nothing(queue: Queue, clock: FakeClock) -> None:
    assert woken("other") == []


def test_where_the_job_before_matters_the_wake_reads_none_and_a_poll_is_woken(queue: Queue, clock: FakeClock) -> None:
    woken()
    clock.advance(HALF_AN_HOUR)
    services = handler._container().services
    read: list[str] = []
    services.store.jobs.get = read.append  # type: ignore[method-assign,assignment]

    assert woken() == []

    assert read == []
    record = queue.services.store.table.get(schedule_key("backup"))
    assert record is not None
    assert record["wake"] is True
