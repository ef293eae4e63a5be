"""Leasehold in somebody else's CDK app, on the local AWS: two queues in one stack, its own functions at both ends."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.transitions import JobStatus
from leasehold.local.aws import inspection
from leasehold.local.aws.connection import open_queue
from tests.package.foreign_project import deployed

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.kernel.job import Job
    from leasehold.queue import Queue

pytestmark = [pytest.mark.deep, pytest.mark.ministack, pytest.mark.xdist_group("package"), pytest.mark.timeout(700)]

APP = '''
from aws_cdk import App, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_

from leasehold.cdk import Handler, JobQueue
from leasehold.cdk.layers import architecture_of_this_machine, runtime_of_this_machine

RENDER = """
from pydantic import BaseModel
from leasehold import BaseJobHandler
from leasehold.runtime.entry import entry

class Page(BaseModel):
    number: int

class Render(BaseJobHandler[Page]):
    def handle(self, payload, context):
        again = payload.number - 1
        if again:
            context.enqueue("render", {"number": again})
        return f"page {payload.number}"

handler = entry(Render)
"""
WEB = """
from leasehold import Queue

def handler(event, context):
    letter = Queue.connect("Shop-Letters").enqueue("send_letter", {"to": "ada"})
    page = Queue.connect("Shop-Reports").enqueue("render", {"number": 2})
    return {"letter": letter.job_id, "page": page.job_id}
"""

app = App()
stack = Stack(app, "Shop")
machine = {"runtime": runtime_of_this_machine(), "architecture": architecture_of_this_machine()}


def function(name, code, **more):
    return lambda_.Function(
        stack, name, handler="index.handler", code=lambda_.Code.from_inline(code), timeout=Duration.seconds(70),
        **machine, **more,
    )


vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=0)
key = kms.Key(stack, "Key", removal_policy=RemovalPolicy.DESTROY)
letters = JobQueue(stack, "Letters", entry="letters", vpc=vpc, encryption_key=key,
                   vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED))
reports = JobQueue(stack, "Reports", entry="reports", environment_name="shop",
                   handlers={"render": Handler.from_function(function("Render", RENDER))})
web = function("Web", WEB, layers=list(letters.sdk_layers))
letters.grant_enqueue(web, "send_letter")
reports.grant_enqueue(web, "render")
CfnOutput(stack, "Producer", value=web.function_name)
app.synth()
'''
SEND_LETTER = """
import os

from pydantic import BaseModel

from leasehold import BaseJobHandler
from letters.common.greeting import greet


class Letter(BaseModel):
    to: str


class SendLetter(BaseJobHandler[Letter]):
    def handle(self, payload: Letter) -> str:
        return f"{greet(payload.to)} from {os.environ['SENDER']}"
"""
FILES = {
    "app.py": APP,
    "letters/send_letter/handler.py": SEND_LETTER,
    "letters/send_letter/job.toml": 'concurrency = 2\n[environment]\nSENDER = "the ${environment_name} office"\n',
    "letters/common/greeting.py": "def greet(name: str) -> str:\n    return f'dear {name}'\n",
    "reports/render/job.toml": 'concurrency = 2\nenqueues = ["render"]\n',
}


def test_two_queues_run_jobs_that_a_function_of_the_app_enqueues_and_another_does(tmp_path: Path) -> None:
    with deployed(tmp_path / "shop", FILES) as running:
        client = inspection.client(running, "cloudformation")
        (stack,) = client.describe_stacks(StackName="Shop")["Stacks"]
        (web,) = (each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == "Producer")
        answer = inspection.client(running, "lambda").invoke(FunctionName=web, Payload=b"{}")
        made: dict[str, Any] = json.loads(answer["Payload"].read())
        letters, reports = (open_queue(running, name) for name in ("Shop-Letters", "Shop-Reports"))

        assert ended(letters, made["letter"]).result == "dear ada from the prod office"
        assert ended(reports, made["page"]).result == "page 2"
        # The handler has enqueued the next page by itself.
        assert completed(reports, 2) == {"page 1", "page 2"}


def ended(queue: Queue, job_id: str) -> Job:
    return queue.wait(job_id, timeout=timedelta(seconds=90))


def completed(queue: Queue, count: int, within: float = 90) -> set[object]:
    store, deadline = queue.services.store, time.monotonic() + within
    while True:
        found = store.listings.ended(JobStatus.COMPLETED, "render", limit=100)
        if len(found) >= count or time.monotonic() > deadline:
            return {each.result for each in store.jobs.get_many(found).values()}
        time.sleep(0.5)


COUNT = 100
MANY = """
from pydantic import BaseModel
from leasehold import BaseJobHandler

class Nothing(BaseModel): ...

class Work(BaseJobHandler[Nothing]):
    def handle(self, payload: Nothing) -> str:
        return "{name}"
"""


def test_100_job_types_are_deployed_and_each_function_can_start(tmp_path: Path) -> None:
    names = [f"work_{number:03d}" for number in range(COUNT)]
    app = (
        "from aws_cdk import App, Stack\nfrom leasehold.cdk import JobQueue\n\n"
        'app = App()\nJobQueue(Stack(app, "Many"), "Jobs", entry="jobs")\napp.synth()\n'
    )
    files = {f"jobs/{name}/handler.py": MANY.format(name=name) for name in names}
    files |= {f"jobs/{name}/job.toml": 'concurrency = "unlimited"\n' for name in names}
    with deployed(tmp_path / "many", {"app.py": app, **files}) as running:
        queue = open_queue(running, "Many-Jobs")
        # Publishing the registry has asked each function for its payloads: all of them start.
        assert set(queue.services.deployment.registry().types) == set(names)
        jobs = {name: queue.enqueue(name, {}).job_id for name in (names[0], names[-1])}
        assert {name: ended(queue, job_id).result for name, job_id in jobs.items()} == {name: name for name in jobs}
