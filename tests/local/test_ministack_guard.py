"""The local AWS answers to its own project, and to no page in a browser and no other program of this machine."""

from __future__ import annotations

import base64
import http.client
import io
import json
import shutil
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from leasehold.local.aws.inspection import client
from leasehold.local.aws.instance import LocalAws
from tests.local_project import LEASEHOLD, ROOT, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.local.aws.instance import Running

pytestmark = [pytest.mark.slow, pytest.mark.ministack]

# It runs on the developer's machine: whoever can make a function can do there whatever he can.
HANDLER = """
import boto3
def handler(event, context):
    return boto3.client("sts").get_caller_identity()["Account"]
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("project")
    shutil.copy2(ROOT / "cdk.json", root)
    (root / ".venv-ministack").symlink_to(ROOT / ".venv-ministack")
    assert run(LEASEHOLD, "local", "up", cwd=root).returncode == 0
    aws = LocalAws(root)
    found = aws.running()
    assert found is not None
    assert aws.folder.stat().st_mode & 0o777 == 0o700
    yield found
    assert run(LEASEHOLD, "local", "down", cwd=root).returncode == 0


def code() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("handler.py", HANDLER)
    return packed.getvalue()


def creation(name: str) -> dict[str, object]:
    return {
        "FunctionName": name,
        "Runtime": "python3.13",
        "Role": "arn:aws:iam::000000000000:role/any",
        "Handler": "handler.handler",
        "Code": {"ZipFile": base64.b64encode(code()).decode()},
    }


def send(
    running: Running, headers: dict[str, str], *, method: str = "POST", path: str = "/2015-03-31/functions"
) -> str:
    """A request as anybody can send it; how it was answered."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    try:
        connection.request(method, path, json.dumps(creation("stolen")), headers)
        answer = connection.getresponse()
        return f"{answer.status} {answer.read().decode(errors='replace')}"
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        # What a page can send without asking first: a form, or fetch() with a simple content type.
        ({"Origin": "https://evil.example", "Content-Type": "text/plain"}, "ForeignOrigin"),
        ({"Origin": "null", "Content-Type": "application/x-www-form-urlencoded"}, "ForeignOrigin"),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "ForeignOrigin"),
        # A name of somebody's that was made to point here.
        ({"Host": "evil.example"}, "ForeignHost"),
        ({"Host": "127.0.0.1"}, "ForeignHost"),
        # Another program, or another user of this machine.
        ({}, "InvalidSignature: The request is not signed"),
        ({"Authorization": "Bearer x"}, "InvalidSignature: The request is not signed"),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=test/x"}, "InvalidSignature: The signature is not whole"),
    ],
    ids=str,
)
def test_nobody_else_can_make_a_function(running: Running, headers: dict[str, str], reason: str) -> None:
    answer = send(running, headers)

    assert answer.startswith("403 ")
    assert reason in answer
    assert client(running, "lambda").list_functions()["Functions"] == []


def test_its_own_administration_is_closed_too(running: Running) -> None:
    assert send(running, {}, path="/_ministack/reset").startswith("403 ")
    assert send(running, {"Origin": "http://evil.example"}, method="GET", path="/_ministack/health").startswith("403 ")


@pytest.mark.parametrize(("access_key", "secret"), [("test", "test"), (None, "guess"), ("000000000000", "test")])
def test_a_signature_with_another_key_is_refused(running: Running, access_key: str | None, secret: str) -> None:
    stranger = replace(running, access_key=access_key or running.access_key, secret_key=secret)

    with pytest.raises(ClientError, match="InvalidSignature"):
        client(stranger, "lambda").list_functions()


def test_the_project_can_make_a_function_which_can_call_it_back(running: Running) -> None:
    functions = client(running, "lambda")
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    client(running, "iam").create_role(RoleName="any", AssumeRolePolicyDocument=document)
    functions.create_function(**{**creation("ours"), "Code": {"ZipFile": code()}})
    try:
        answer = functions.invoke(FunctionName="ours")
        assert json.loads(answer["Payload"].read()) == "000000000000"
    finally:
        functions.delete_function(FunctionName="ours")


def test_every_start_has_a_port_and_keys_of_its_own(running: Running) -> None:
    assert running.port != 4799
    assert running.secret_key not in repr(running)
    assert len(running.secret_key) >= 32
