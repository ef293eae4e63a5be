"""Jobs from templates on every store: the caller wins, then the template, then the type; the job keeps a copy."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pydantic import BaseModel

from leasehold import Enqueued, Fixed, JobStatus, NewJob, Priority, Rejected
from leasehold.kernel.errors import InvalidOptionError, InvalidPayloadError, PayloadTooLargeError, UnknownJobTypeError
from leasehold.templates.model import UnknownTemplateError
from tests.contract.engines import on_real_tables
from tests.contract.world import RETRY_DELAY, TYPES

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold import Job
    from tests.contract.world import World

HOOK, OTHER_HOOK = "https://example.com/hooks/jobs", "https://example.com/other"
RETRY, OTHER_RETRY = Fixed(timedelta(seconds=7)), Fixed(timedelta(seconds=9))


class Report(BaseModel):
    job_type: ClassVar[str] = "report"
    to: str


@pytest.fixture
def nightly(world: World) -> str:
    world.queue.templates.create(
        "nightly", "report", {"to": "ada", "style": {"size": 9}}, priority=0, max_attempts=7, retry=RETRY, webhook=HOOK
    )
    return "nightly"


def options_of(job: Job) -> tuple[object, ...]:
    return job.priority, job.max_attempts, job.retry, job.webhook


def test_a_job_takes_what_its_caller_leaves_out(world: World, nightly: str) -> None:
    job = world.job(world.queue.enqueue(template=nightly).job_id)

    assert (job.job_type, job.template) == ("report", "nightly")
    assert job.payload == {"to": "ada", "style": {"size": 9}}
    assert options_of(job) == (Priority.LOW, 7, RETRY, HOOK)


def test_what_the_caller_says_wins_and_payloads_are_merged_at_the_top_level(world: World, nightly: str) -> None:
    job = world.job(
        world.queue.enqueue(
            template=nightly,
            payload={"style": {"bold": True}, "n": 1},
            priority=3,
            max_attempts=1,
            retry=OTHER_RETRY,
            webhook=OTHER_HOOK,
        ).job_id
    )

    assert job.payload == {"to": "ada", "style": {"bold": True}, "n": 1}
    assert options_of(job) == (Priority.CRITICAL, 1, OTHER_RETRY, OTHER_HOOK)


def test_what_the_template_leaves_out_is_the_types(world: World) -> None:
    world.queue.templates.create("plain", "report")

    job = world.job(world.queue.enqueue(template="plain", payload=[1, 2]).job_id)

    assert options_of(job) == (Priority.NORMAL, 3, None, None)
    assert job.payload == [1, 2]  # there is nothing to merge it with


def test_a_job_keeps_its_copy_whatever_becomes_of_the_template(world: World, nightly: str) -> None:
    kept = world.queue.enqueue(template=nightly).job_id
    before = world.job(kept)

    world.queue.templates.update(nightly, payload={"to": "bob"}, priority=3, retry=OTHER_RETRY, webhook=OTHER_HOOK)
    assert world.job(kept) == before
    assert world.job(world.queue.enqueue(template=nightly).job_id).payload == {"to": "bob"}
    world.queue.templates.delete(nightly)

    assert world.job(kept) == before
    assert world.work_until_ended(kept).status is JobStatus.COMPLETED


def test_a_run_again_has_the_copy_of_the_first_run(world: World, nightly: str) -> None:
    first = world.queue.enqueue(template=nightly, payload={"to": "eve"}).job_id
    world.work_until_ended(first)
    world.queue.templates.delete(nightly)

    again = world.job(world.queue.retry(first).job_id)

    assert (again.template, again.payload) == ("nightly", {"to": "eve", "style": {"size": 9}})
    assert options_of(again) == (Priority.LOW, 7, RETRY, HOOK)


def test_a_job_is_tried_again_by_its_own_policy(world: World) -> None:
    own = world.queue.enqueue("report", retry=RETRY).job_id
    types = world.queue.enqueue("report").job_id
    world.script.then(RuntimeError("no"), RuntimeError("no"))

    world.work()

    assert (world.job(own).due_at, world.job(types).due_at) == (
        world.clock.now() + timedelta(seconds=7),
        world.clock.now() + RETRY_DELAY,
    )


def test_a_typed_payload_may_name_its_template(world: World, nightly: str) -> None:
    job = world.job(world.queue.enqueue(Report(to="bob"), template=nightly).job_id)

    assert job.payload == {"to": "bob", "style": {"size": 9}}


def test_another_type_than_the_templates_is_refused(world: World, nightly: str) -> None:
    assert world.queue.enqueue("report", template=nightly).created

    with pytest.raises(InvalidOptionError, match=r"makes report jobs, not these: got 'email'"):
        world.queue.enqueue("email", template=nightly)


def test_an_unknown_template_is_refused_and_says_what_comes_close(world: World, nightly: str) -> None:
    with pytest.raises(UnknownTemplateError, match=r"got 'nigthly'\. Did you mean nightly\?"):
        world.queue.enqueue(template="nigthly")


def test_payloads_that_cannot_be_merged_are_refused(world: World, nightly: str) -> None:
    with pytest.raises(InvalidPayloadError, match="cannot be merged"):
        world.queue.enqueue(template=nightly, payload=[1])
    half = "x" * 110_000
    world.queue.templates.create("large", "report", {"a": half})
    with pytest.raises(PayloadTooLargeError):
        world.queue.enqueue(template="large", payload={"b": half})


def test_a_template_whose_type_is_no_longer_deployed_makes_no_jobs(world: World, nightly: str) -> None:
    world.deploy(*(each for each in TYPES if each.name != "report"))

    with pytest.raises(UnknownJobTypeError):
        world.queue.enqueue(template=nightly)


def test_many_jobs_come_from_templates_and_a_bad_one_stops_no_other(world: World, nightly: str) -> None:
    world.queue.templates.create("mail", "email")
    wanted = [
        NewJob(template=nightly, payload={"n": 1}),
        NewJob(template="nobody"),
        NewJob(template="mail", priority=2),
        NewJob(job="email", template=nightly),
    ]

    first, unknown, mail, other = world.queue.enqueue_many(wanted)

    assert isinstance(first, Enqueued)
    assert world.job(first.job_id).payload == {"to": "ada", "style": {"size": 9}, "n": 1}
    assert isinstance(mail, Enqueued)
    assert (world.job(mail.job_id).job_type, world.job(mail.job_id).priority) == ("email", Priority.HIGH)
    assert isinstance(unknown, Rejected)
    assert isinstance(unknown.error, UnknownTemplateError)
    assert isinstance(other, Rejected)


@on_real_tables
def test_a_job_of_ones_own_transaction_comes_from_a_template(
    world: World, nightly: str, client: DynamoDBClient
) -> None:
    made = world.queue.transact_items(template=nightly, payload={"n": 1})
    items: Any = made.items

    client.transact_write_items(TransactItems=items)

    job = world.job(made.job_id)
    assert (job.template, job.payload) == ("nightly", {"to": "ada", "style": {"size": 9}, "n": 1})


def test_a_deduplicated_job_from_a_template_is_one(world: World, nightly: str) -> None:
    first = world.queue.enqueue(template=nightly, dedup_key="ada")

    assert world.queue.enqueue("report", dedup_key="ada").job_id == first.job_id
