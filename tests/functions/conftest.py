"""Functions as Lambda would run them: in this process, on a real DynamoDB engine, with a context of ours."""

from __future__ import annotations

import importlib
import json
import logging
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from app import ROOT
from leasehold import JobType, Operator, Queue, Registry
from leasehold.aws import names as variables
from leasehold.functions import poller
from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.ports import KnownIdentity
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

FUNCTION = "leasehold-test-job-daily_summary"
POLLER = "leasehold-test-poller"
entry = importlib.import_module("leasehold.runtime.entry")


@dataclass
class FakeContext:
    """Lambda's context; each has a request id of its own."""

    remaining_millis: int = 60_000
    function_name: str = POLLER
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_millis


@dataclass
class FakeLambda:
    """The Lambda service as far as the poller sees it: takes an event at once, runs it when the test says so."""

    invoked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    on_invoke: Callable[[], object] = lambda: None

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, int]:  # noqa: N803
        assert InvocationType == "Event"
        self.invoked.append((FunctionName, json.loads(Payload)))
        self.on_invoke()
        return {"StatusCode": 202}

    def run_all(self) -> list[dict[str, str | None]]:
        events, self.invoked = [event for _, event in self.invoked], []
        return [entry.lambda_handler(event, FakeContext()) for event in events]


@pytest.fixture
def queue(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient], monkeypatch: pytest.MonkeyPatch
) -> Queue:
    """A queue on fresh tables that the functions find through their environment."""
    name = uuid.uuid4().hex[:8]
    names = TableNames(jobs=f"{name}-jobs", dead_letters=f"{name}-dead-letters")
    client = make_client(dynoxide_endpoint)
    create_tables(client, names)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynoxide_endpoint)
    monkeypatch.setenv(variables.JOBS_TABLE, names.jobs)
    monkeypatch.setenv(variables.DEAD_LETTERS_TABLE, names.dead_letters)
    monkeypatch.setenv(variables.METRICS_PER_TYPE, "true")
    monkeypatch.setenv(variables.HANDLER, "functions.jobs.daily_summary.handler")
    monkeypatch.setenv("LAMBDA_TASK_ROOT", str(ROOT / "functions" / "jobs" / "daily_summary"))
    queue = Queue.connect(names.jobs, names.dead_letters, client=client)
    queue.services.identity = KnownIdentity("ada")
    types = {"daily_summary": JobType(name="daily_summary", function=FUNCTION)}
    Operator(queue.services).publish(Registry(types=types))
    return queue


@pytest.fixture
def operator(queue: Queue) -> Operator:
    return Operator(queue.services)


@pytest.fixture
def cold_start() -> Iterator[None]:
    """What a container keeps is made anew for each test, and forgotten after it."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    entry._loaded.clear()
    for cached in (poller._container, poller._dispatcher, entry._container):
        cached.cache_clear()
    # Loggers outlive containers, and each keeps writing to the output that it was made with.
    loggers = logging.Logger.manager.loggerDict
    for name in [name for name in loggers if name in {"poller", "handler"} or name.startswith("leasehold.jobs")]:
        del loggers[name]


@pytest.fixture
def aws_lambda(queue: Queue, cold_start: None, monkeypatch: pytest.MonkeyPatch) -> FakeLambda:
    fake = FakeLambda()
    monkeypatch.setattr("leasehold.aws.dispatcher.connect_lambda", lambda: fake)
    return fake
