"""The HTTP API on the deployed stack: signed requests of real users, through the gateway, to jobs that run."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from leasehold.kernel.transitions import JobStatus
from leasehold.local.aws.inspection import api_hosts
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


class Client:
    """One user, whose requests are signed with its own key; without one, they are not signed."""

    def __init__(self, stack: LocalStack, user: str | None) -> None:
        self._address = urlsplit(stack.running.endpoint).netloc
        self._host = api_hosts(stack.running)["local"]
        self._credentials: Credentials | None = None
        if user is not None:
            iam = stack.client("iam")
            iam.create_user(UserName=user)
            may_call = {
                "Effect": "Allow",
                "Action": "execute-api:Invoke",
                "Resource": f"arn:aws:execute-api:*:*:{self._host.partition('.')[0]}/*",
            }
            policy = {"Version": "2012-10-17", "Statement": [may_call]}
            iam.put_user_policy(UserName=user, PolicyName="call", PolicyDocument=json.dumps(policy))
            key = iam.create_access_key(UserName=user)["AccessKey"]
            self._credentials = Credentials(key["AccessKeyId"], key["SecretAccessKey"])

    def send(self, route: str, body: object = None, *, key: str | None = None) -> tuple[int, dict[str, Any]]:
        method, _, path = route.partition(" ")
        headers = {"Host": self._host}
        sent = None if body is None else json.dumps(body)
        if sent is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        request = AWSRequest(method=method, url=f"http://{self._host}{path}", data=sent, headers=headers)
        if self._credentials is not None:
            SigV4Auth(self._credentials, "execute-api", "us-east-1").add_auth(request)
        connection = http.client.HTTPConnection(self._address, timeout=60)
        try:
            connection.request(method, path, sent, dict(request.headers))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def operator(local_stack: LocalStack) -> Client:
    return Client(local_stack, "operator-ada")


def test_a_job_is_made_once_runs_and_its_maker_is_on_record(local_stack: LocalStack, operator: Client):
    body = {"job_type": "daily_summary", "payload": {"user_id": "ada"}, "reason": "an end-to-end test"}

    first, second = (operator.send("POST /api/jobs", body, key="e2e-1") for _ in range(2))

    assert first == second
    status, made = first
    assert (status, made["created"]) == (201, True)
    assert local_stack.wait(made["job_id"]).status is JobStatus.COMPLETED
    _, shown = operator.send(f"GET /api/jobs/{made['job_id']}")
    assert (shown["state"], shown["result"]["user_id"]) == ("COMPLETED", "ada")
    assert shown["created_by"] == "arn:aws:iam::000000000000:user/operator-ada"
    _, trail = operator.send(f"GET /api/audit?target=job%23{made['job_id']}")
    assert [(each["action"], each["by"]) for each in trail["items"]] == [("create", shown["created_by"])]


def test_a_direct_run_answers_with_the_handlers_result(operator: Client):
    body = {"job_type": "limited", "payload": {"seconds": 1}, "timeout": 20, "reason": "an end-to-end test"}
    status, asked = operator.send("POST /api/direct-runs", body, key="e2e-2")

    assert status in {200, 202}
    place = f"GET /api/direct-runs/{asked['run_id']}"
    assert eventually(lambda: operator.send(place)[1]["state"] not in {"accepted", "running"})
    _, shown = operator.send(place)
    assert shown["state"] == "completed"


def test_a_viewer_looks_and_does_not_touch(local_stack: LocalStack):
    viewer = Client(local_stack, "viewer-ada")

    assert viewer.send("GET /api/control")[0] == 200
    status, refused = viewer.send("POST /api/control/halt", {"reason": "no"})
    assert (status, refused["code"]) == (403, "not_allowed")


def test_somebody_without_a_role_and_somebody_unknown_are_not_let_in(local_stack: LocalStack):
    assert Client(local_stack, "ada").send("GET /api/control")[0] == 403
    assert Client(local_stack, None).send("GET /api/control")[0] in {401, 403}


def test_the_description_is_served(operator: Client):
    status, document = operator.send("GET /api/openapi.json")

    assert (status, document["openapi"]) == (200, "3.1.0")
