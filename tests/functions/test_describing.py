"""A deployment asks each handler what its payloads look like: one that cannot start fails it, with the reason."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import JobType, Registry, job
from leasehold.functions import registry_publisher as handler
from leasehold.kernel.errors import DeploymentError, InvalidPayloadError
from leasehold.kernel.registry_records import registry_record
from leasehold.runtime.loading import describe
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from leasehold import Queue

pytestmark = pytest.mark.dynoxide


class Order(BaseModel):
    number: int


class LargerOrder(Order):
    customer: str


@job
def ship(payload: Order) -> None: ...


@job
def ship_more(payload: LargerOrder) -> None: ...


@dataclass
class Functions:
    """Lambda, as far as the publisher sees it: what each function says when it is asked."""

    says: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert json.loads(Payload) == {"source": "leasehold.describe"}
        self.asked.append(FunctionName)
        said = self.says[FunctionName]
        failed = {"FunctionError": "Unhandled"} if "errorMessage" in said else {}
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(said).encode()), **failed}


@pytest.fixture
def functions(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Functions:
    fake = Functions({"ship-function": describe(ship)})
    monkeypatch.setattr(handler, "connect_to_ask", lambda: fake)
    monkeypatch.setattr("leasehold.functions.registry_publisher._answer", lambda *_: None)
    return fake


def deploy(queue: Queue, code: str = "code-1", **settings: Any) -> None:
    registry = Registry(types={"ship": JobType(name="ship", function="ship-function", **settings)})
    properties = {
        "Registry": json.dumps(registry_record(registry)),
        "Schedules": "{}",
        "Codes": json.dumps({"ship": code}),
    }
    handler.lambda_handler({"RequestType": "Update", "ResourceProperties": properties}, FakeContext())
    queue.services.deployment.forget()


def test_what_does_not_fit_is_refused_from_then_on(queue: Queue, functions: Functions) -> None:
    deploy(queue)

    with pytest.raises(InvalidPayloadError, match=r"payload\.number is missing"):
        queue.enqueue("ship", {})
    assert queue.get(queue.enqueue("ship", {"number": "5"}).job_id).payload == {"number": "5"}


def test_a_type_may_leave_it_to_its_handler(queue: Queue, functions: Functions) -> None:
    deploy(queue, check_payload=False)

    assert queue.enqueue("ship", {}).created


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"error": "ModuleNotFoundError: No module named 'x'"}, "ship: ModuleNotFoundError: No module named 'x'"),
        ({"errorMessage": "out of memory"}, "ship: its function failed before it could answer: out of memory"),
    ],
)
def test_a_handler_that_cannot_start_fails_the_deployment_and_nothing_is_published(
    queue: Queue, functions: Functions, said: dict[str, str], reason: str
) -> None:
    deploy(queue)
    functions.says["ship-function"] = said

    with pytest.raises(DeploymentError, match=reason):
        deploy(queue, "code-2", max_attempts=9)

    assert queue.services.deployment.registry().types["ship"].max_attempts != 9


def test_a_rollback_to_what_was_published_before_never_fails(queue: Queue, functions: Functions) -> None:
    deploy(queue)
    functions.says["ship-function"] = {"error": "KeyError: 'TOKEN'"}

    deploy(queue)

    assert queue.enqueue("ship", {}).created  # nobody knows what it takes, so nobody refuses


def test_a_changed_schema_is_reported_with_the_waiting_jobs_that_no_longer_fit(
    queue: Queue, functions: Functions, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(queue)
    waiting = queue.enqueue("ship", {"number": 1}, run_in=timedelta(days=1)).job_id
    queue.enqueue("ship", {"number": 1, "customer": "ada"}, run_in=timedelta(days=1))
    functions.says["ship-function"] = describe(ship_more)

    deploy(queue, "code-2")

    (line,) = [vars(each) for each in caplog.records if each.message == "schema_changed"]
    assert (line["job_type"], line["sampled"], line["unfit"]) == ("ship", 2, 1)
    assert line["examples"] == {waiting: "payload.customer is missing"}
