"""The deployed functions in this process: their own handlers and environment, on a real engine, by a clock of ours."""

from __future__ import annotations

import importlib
import json
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from app import ROOT
from leasehold import BaseJobHandler, Cancel, JobContext, NonRetryableError, Operator, Queue, Skip, Snooze
from leasehold.aws import container, dispatcher
from leasehold.aws import names as variables
from leasehold.aws.dispatcher import LambdaDispatcher, wake_poller
from leasehold.features import Store
from leasehold.functions import dead_letter_reporter as reporter
from leasehold.functions import poller
from leasehold.functions import registry_publisher as publisher
from leasehold.functions import schedule_trigger as trigger
from leasehold.functions import webhook_sender as sender
from leasehold.job_folders.folder import deployed_types, load_job_folders, schedules_of
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.keys import key_of
from leasehold.kernel.registry import Registry
from leasehold.kernel.registry_records import registry_record
from leasehold.kernel.services import Services
from leasehold.schedules.records import definition_record
from leasehold.testing import FakeClock
from tests.infra.cloudformation import ACCOUNT, REGION, Resolver
from tests.infra.iam import Call
from tests.infra.recorded_calls import RecordedCalls
from tests.infra.synthesised import synthesised
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.operate.failure_report import FailureReport
    from leasehold.schedules.model import Schedule

entry = importlib.import_module("leasehold.runtime.entry")

STAGE = "dev"
POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER = (
    f"leasehold-{STAGE}-{name}"
    for name in ("poller", "dead-letter-reporter", "registry-publisher", "schedule-trigger", "webhook-sender")
)
ENQUEUER = "a program that enqueues"
PLAIN_ENQUEUER = "a program that enqueues plain jobs"
TICK = {"source": "leasehold.tick"}


class Died(BaseException):
    """What no handler survives: the process is gone, and nothing more is written."""


class Errand(BaseModel):
    do: str = "complete"


class ErrandHandler(BaseJobHandler):
    """Ends as its payload asks for: what a handler's role must allow does not depend on whose handler it is."""

    @classmethod
    def payload_model(cls) -> type[Errand]:
        return Errand

    def handle(self, payload: Errand, context: JobContext) -> dict[str, str] | None:
        match payload.do:
            case "fail":
                raise RuntimeError("not this time")
            case "bury":
                raise NonRetryableError("never")
            case "snooze":
                raise Snooze(30)
            case "skip":
                raise Skip("nothing to do")
            case "cancel":
                raise Cancel("no longer wanted")
            case "die":
                raise Died
            case "look and extend":
                assert not context.cancel_requested
                context.extend()
        return {"done": payload.do}


@dataclass
class Context:
    function_name: str
    aws_request_id: str = "request-0"
    remaining_millis: int = 120_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_millis


class TakingReporter:
    """A Sentry that takes everything."""

    is_on = True

    def report(self, report: FailureReport) -> bool:
        return True


class Mirror:
    """An EventBridge that takes everything."""

    def put(self, schedule: Schedule) -> None:
        pass

    def delete(self, name: str) -> None:
        pass


def invoke_of(function: str) -> Call:
    return Call("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}")


@dataclass
class LambdaService:
    """Takes every asynchronous invoke, and keeps its event until the test delivers it."""

    calls: RecordedCalls
    invoked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    is_down: bool = False

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, int]:  # noqa: N803
        if self.is_down:
            return {"StatusCode": 500}
        self.invoked.append((FunctionName, json.loads(Payload)))
        self.calls.by_actor[self.calls.actor].add(invoke_of(FunctionName))
        return {"StatusCode": 202}

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        taken, self.invoked = self.invoked, []
        return taken


class Waker:
    """Wakes the poller for whoever acts, if its environment names one: handlers share a container here."""

    def __init__(self, calls: RecordedCalls) -> None:
        self._calls = calls
        functions = [each["Properties"] for each in synthesised(STAGE).of_type("AWS::Lambda::Function").values()]
        resolver = Resolver(synthesised(STAGE))
        self._pollers = {
            each["FunctionName"]: resolver.resolve(each["Environment"]["Variables"][variables.POLLER_FUNCTION])
            for each in functions
            if variables.POLLER_FUNCTION in each.get("Environment", {}).get("Variables", {})
        }

    @property
    def is_on(self) -> bool:
        return self._calls.actor in self._pollers

    def __call__(self, scopes: Sequence[str]) -> None:
        wake_poller(LambdaDispatcher(), self._pollers[self._calls.actor], scopes)


class DeployedFunctions:
    def __init__(self, client: DynamoDBClient, patch: pytest.MonkeyPatch) -> None:
        self.client = client
        self.clock = FakeClock()
        self.folders = load_job_folders(ROOT)
        self.names = TableNames(jobs=f"leasehold-{STAGE}-jobs", dead_letters=f"leasehold-{STAGE}-dead-letters")
        create_tables(client, self.names)
        self.calls = RecordedCalls(client)
        self.service = LambdaService(self.calls)
        self.queue = Queue(self._services(client))
        self.operator = Operator(self._services(client))
        self.shape: dict[str, Any] = {}
        self._handle = entry.entry(ErrandHandler)
        self._deploy(client, patch)

    def _services(self, client: DynamoDBClient) -> Services:
        return Services(store=Store(DynamoTable(client, self.names)), clock=self.clock)

    def _deploy(self, client: DynamoDBClient, patch: pytest.MonkeyPatch) -> None:
        patch.setenv(variables.ENVIRONMENT_NAME, STAGE)
        patch.setenv(variables.JOBS_TABLE, self.names.jobs)
        patch.setenv(variables.DEAD_LETTERS_TABLE, self.names.dead_letters)
        patch.setenv(variables.METRICS_NAMESPACE, f"Leasehold/{STAGE}")
        patch.setenv(variables.METRICS_PER_TYPE, "true")
        patch.setattr(container, "open_client", lambda *_: client)
        patch.setattr(container, "Services", partial(Services, clock=self.clock))
        patch.setattr(container, "reporter_of", lambda _: TakingReporter())
        # Only these are told of EventBridge by their environment.
        patch.setattr(container, "mirror_of", lambda _: Mirror() if self.calls.actor in {POLLER, TRIGGER} else None)
        patch.setattr(container, "_waker_of", lambda _: waker if (waker := Waker(self.calls)).is_on else None)
        patch.setattr(dispatcher, "connect_lambda", lambda: self.service)
        patch.setattr(publisher, "_answer", lambda *_: None)
        patch.setattr(publisher, "connect_to_ask", lambda: None)
        patch.setattr(publisher, "ask", lambda *_: {"shape": self.shape})
        self.forget()

    def forget(self) -> None:
        """New containers for all functions, and loggers that write to what is the output now."""
        for cached in (
            *(poller._container, poller._dispatcher),
            *(reporter._container, trigger._container, entry._container),
        ):
            cached.cache_clear()
        for name in ("poller", "handler", "dead_letter_reporter", "registry_publisher", "schedule_trigger"):
            logging.Logger.manager.loggerDict.pop(name, None)

    def publish(self, *, without: str | None = None, with_schedules: bool = False, asked: str | None = None) -> Self:
        """A deployment, as CloudFormation tells the publisher of it."""
        folders = [folder for folder in self.folders if folder.name != without]
        functions = {folder.name: f"leasehold-{STAGE}-job-{folder.name}" for folder in folders}
        record = json.dumps(registry_record(Registry(types=deployed_types(folders, functions, webhook_sender=SENDER))))
        schedules = {each.name: definition_record(each) for each in schedules_of(folders) if with_schedules}
        properties = {"Registry": record, "Schedules": json.dumps(schedules)}
        if asked is not None:
            properties["Codes"] = json.dumps({asked: json.dumps(self.shape)})
        with self.calls.acting_as(PUBLISHER):
            publisher.lambda_handler({"RequestType": "Update", "ResourceProperties": properties}, None)
        return self.later(seconds=6)

    def enqueue(self, job_type: str, do: str = "complete", **options: Any) -> JobId:
        """As a program of the user's does that has been granted to."""
        with self.calls.acting_as(ENQUEUER):
            return self.queue.enqueue(job_type, {"do": do}, **options).job_id

    def later(self, **duration: float) -> Self:
        self.clock.advance(timedelta(**duration))
        return self

    def tick(self) -> Self:
        # Just enough time for a poll, and none to stay for what falls due soon.
        return self.poll(TICK, remaining_millis=10_500)

    def poll(self, event: dict[str, Any], *, remaining_millis: int = 120_000) -> Self:
        with self.calls.acting_as(POLLER):
            poller.lambda_handler(event, Context(POLLER, remaining_millis=remaining_millis))
        return self

    def wake(self, job: Job) -> Self:
        """What the stream tells the poller when this job was written."""
        assert job.due is not None
        image = {
            "PK": {"S": key_of(job.job_id).pk},
            "SK": {"S": key_of(job.job_id).sk},
            "due_key": {"S": job.due.key},
            "job_type": {"S": job.job_type},
            "status": {"S": str(job.status)},
            "priority": {"N": str(int(job.priority))},
        }
        return self.poll({"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {"NewImage": image}}]})

    def deliver(self, *, twice: bool = False) -> Self:
        """Run what was handed over: jobs by their handlers, a resident by the poller, and what a freed seat lets in."""
        taken = self.service.take()
        for function, event in taken:
            if function == POLLER:
                self.poll(event)
                continue
            for _ in range(2 if twice else 1):
                self._run(function, event)
        is_woken = any(event.get("source") == variables.FREED_SOURCE for _, event in taken)
        return self.deliver(twice=twice) if is_woken else self

    def _run(self, function: str, event: dict[str, Any]) -> None:
        with self.calls.acting_as(function):
            try:
                handle = sender.lambda_handler if function == SENDER else self._handle
                handle(event, Context(function, remaining_millis=60_000))
            except Died:
                return

    def trigger(self, schedule: str) -> Self:
        with self.calls.acting_as(TRIGGER):
            trigger.lambda_handler({"source": "leasehold.schedule", "schedule": schedule}, None)
        return self

    def report(self, event: dict[str, Any]) -> Self:
        with self.calls.acting_as(REPORTER):
            reporter.lambda_handler(event, Context(REPORTER))
        return self
