"""What a program may do that was let to manage schedules or templates: exactly what these clients call."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, Queue
from leasehold.templates.model import UnknownTemplateError
from tests.infra.iam import Call
from tests.infra.recorded_calls import RecordedCalls
from tests.infra.test_rights import TABLE, granted, unused
from tests.real_queue import RealQueue
from tests.sample_payloads import noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.testing import FakeClock

pytestmark = pytest.mark.dynoxide

HOUR = timedelta(hours=1)


def manage_templates(queue: Queue, _clock: FakeClock) -> None:
    queue.templates.create("nightly", "report", {"n": 1})
    queue.templates.update("nightly", priority=3)
    queue.templates.get("nightly")
    queue.templates.list()
    queue.templates.delete("nightly")
    with suppress(UnknownTemplateError):
        queue.templates.get("nightly")


def manage_schedules(queue: Queue, clock: FakeClock) -> None:
    schedules = queue.schedules
    # Its jobs' payload does not fit into them.
    schedules.create("hourly", "report", noise(2000), every=HOUR)
    with suppress(UnknownTemplateError):
        schedules.update("hourly", template="nightly")
    schedules.pause("hourly", reason="noise")
    schedules.resume("hourly")
    schedules.list()
    schedules.trigger("hourly")
    clock.advance(HOUR)
    schedules.backfill("hourly", clock.now() - HOUR, clock.now())
    schedules.delete("hourly")


@pytest.fixture
def managed(
    request: pytest.FixtureRequest, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> set[Call]:
    """What all that a client offers has called, as if it were on the deployed table."""
    deployed = RealQueue(make_client(dynoxide_endpoint), [JobType(name="report"), JobType(name="daily_summary")])
    calls = RecordedCalls(deployed.client)
    request.param(Queue(deployed.process()), deployed.clock)
    (made,) = calls.by_actor.values()
    return {replace(call, resource=call.resource.replace(deployed.names.jobs, "leasehold-dev-jobs")) for call in made}


GRANTS = pytest.mark.parametrize(
    ("managed", "grant"),
    [(manage_templates, "grant_manage_templates"), (manage_schedules, "grant_manage_schedules")],
    indirect=["managed"],
)


@GRANTS
def test_whoever_may_manage_them_is_allowed_all_that_this_calls_and_no_more(managed: set[Call], grant: str) -> None:
    role = granted(grant)

    assert [call for call in managed if not role.allowing(call)] == []
    assert unused(role, managed) == set()


def enqueue_for_a_person(queue: Queue, _clock: FakeClock) -> None:
    queue.enqueue("daily_summary", created_by="ada")
    queue.enqueue("daily_summary", created_by="ada", dedup_key="one")


@pytest.mark.parametrize("managed", [enqueue_for_a_person], indirect=True)
def test_whoever_enqueues_for_people_needs_one_grant_besides_for_the_record(managed: set[Call]) -> None:
    enqueuer = granted("grant_enqueue", "grant_deduplicate")
    recorder = granted("grant_record_creation")

    assert [call for call in managed if not enqueuer.allowing(call) and not recorder.allowing(call)] == []
    assert unused(recorder, managed) == set()


@pytest.mark.parametrize(
    "call",
    [
        Call("dynamodb:PutItem", TABLE, ("job",)),
        Call("dynamodb:PutItem", TABLE, ("schedule",)),
        Call("dynamodb:UpdateItem", TABLE, ("template",)),
        Call("dynamodb:DeleteItem", TABLE, ("audit#template#nightly",)),
        Call("dynamodb:PutItem", TABLE, ("audit#schedule#hourly",)),
        Call("dynamodb:PutItem", TABLE, ("control",)),
    ],
    ids=lambda call: f"{call.action} {call.leading_keys[0]}",
)
def test_who_manages_templates_may_do_nothing_else(call: Call) -> None:
    assert granted("grant_manage_templates").allowing(call) == []
