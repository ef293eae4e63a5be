"""Rights of a program that runs handlers directly: enough for one type, and no more."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from app import ROOT
from infra.environments import environment_named
from infra.stacks import DataStack, QueueStack
from leasehold import Queue
from leasehold.cdk import JobQueue
from leasehold.direct_runs.model import DirectAnswer, DirectRunTimeoutError
from leasehold.job_folders.folder import load_job_folder
from leasehold.kernel.poll import Poller
from tests.infra import simulator
from tests.infra.cloudformation import ACCOUNT, REGION, with_names
from tests.infra.iam import Call, Role, roles_of
from tests.infra.recorded_calls import RecordedCalls
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, Synthesised
from tests.infra.test_rights import unused
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.cdk import JobQueueBase
    from leasehold.direct_runs.model import DirectRun
    from leasehold.kernel.job_type import JobType

pytestmark = pytest.mark.dynoxide

TABLE = "leasehold-dev-jobs"
FUNCTIONS = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:leasehold-dev-job-"
# One seat, and no limit.
LIMITED, UNLIMITED = "backup", "daily_summary"
FOLDERS = [load_job_folder(ROOT, name) for name in (LIMITED, UNLIMITED)]


@cache
def granted(job_type: str, *, imported: bool = False) -> Role:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = environment_named("dev")
    data = DataStack(app, "data", environment=stage)
    queue = QueueStack(app, "queue", environment=stage, data=data, folders=FOLDERS)
    theirs = Stack(app, "theirs")
    whose = queue_of_another_stack(theirs, queue.queue) if imported else queue.queue
    whose.grant_run_now(iam.Role(theirs, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")), job_type)
    templates = (dict(Template.from_stack(each).to_json()) for each in (data, queue, theirs))
    ours, handlers, given = (with_names(each, "dev") for each in templates)
    both = {part: {**ours.get(part, {}), **handlers.get(part, {})} for part in ("Resources", "Outputs")}
    return roles_of(Synthesised(data=both, queue=given, report={}))[next(iter(given["Resources"]))]


def queue_of_another_stack(stack: Stack, queue: JobQueue) -> JobQueueBase:
    return JobQueue.from_job_queue_attributes(
        stack,
        "Queue",
        queue_name=queue.queue_name,
        jobs_table=queue.jobs_table,
        dead_letters_table=queue.dead_letters_table,
        job_types=queue.job_types,
        functions={name: handler.function for name, handler in queue.handlers.items()},
    )


class Answering:
    """A Lambda that answers after something else has happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        self._meanwhile()
        return DirectAnswer()


def calls_of_all_paths(job_type: str, client: DynamoDBClient) -> set[Call]:
    """What is called when nobody waits, when a job is held meanwhile, and when a job is in progress for too long."""
    deployed = RealQueue(client, [folder.job_type for folder in FOLDERS])
    calls = RecordedCalls(client)
    services = deployed.process()

    def enqueue_and_poll() -> None:
        with calls.acting_as("others"):
            deployed.queue.enqueue(job_type)
            Poller(deployed.process(), Inbox(), worker_id="poller").poll()

    def run(meanwhile: Callable[[], object]) -> None:
        services.caller = Answering(meanwhile)
        with calls.acting_as("it"):
            Queue(services).run_now(job_type, timeout=timedelta(minutes=1))

    run(lambda: None)
    run(enqueue_and_poll)
    # It is claimed, and its lease is over before anybody looks after it.
    enqueue_and_poll()
    deployed.clock.advance(services.deployment.settings_of(job_type).longest_hold)
    with suppress(DirectRunTimeoutError):
        run(lambda: None)
    return {replace(call, resource=call.resource.replace(deployed.names.jobs, TABLE)) for call in calls.by_actor["it"]}


@pytest.mark.parametrize("job_type", [LIMITED, UNLIMITED])
def test_what_a_direct_run_calls_is_allowed_and_what_is_allowed_is_called(
    job_type: str, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    role = granted(job_type)

    calls = calls_of_all_paths(job_type, make_client(dynoxide_endpoint))

    assert [call for call in calls if not role.allowing(call)] == []
    assert unused(role, calls) == set()


@pytest.mark.parametrize("job_type", [LIMITED, UNLIMITED])
def test_an_imported_queue_grants_enough_although_it_does_not_know_the_types_limits(
    job_type: str, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    role = granted(job_type, imported=True)

    calls = calls_of_all_paths(job_type, make_client(dynoxide_endpoint))

    assert [call for call in calls if not role.allowing(call)] == []
    assert all(simulator.allowed([(role, call) for call in calls]))
    assert role.allowing(Call("lambda:InvokeFunction", f"{FUNCTIONS}poller")) == []


def test_only_the_handler_of_that_type_may_be_called_and_only_its_seats_be_taken() -> None:
    role = granted(LIMITED)

    assert role.allowing(Call("lambda:InvokeFunction", f"{FUNCTIONS}{LIMITED}"))
    for call in (
        Call("lambda:InvokeFunction", f"{FUNCTIONS}{UNLIMITED}"),
        Call("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:leasehold-dev-poller"),
        Call("dynamodb:PutItem", f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLE}", (f"seat#type:{UNLIMITED}",)),
        Call("dynamodb:PutItem", f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLE}", ("job",)),
    ):
        assert role.allowing(call) == []


def test_a_type_that_is_not_there_is_refused_with_those_that_are() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = environment_named("dev")
    queue = QueueStack(app, "queue", environment=stage, data=DataStack(app, "data", environment=stage), folders=FOLDERS)

    with pytest.raises(ValueError, match=r"no job type 'bakcup'. Deployed are: backup, daily_summary"):
        queue.queue.grant_run_now(
            iam.Role(queue, "R", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")), "bakcup"
        )
