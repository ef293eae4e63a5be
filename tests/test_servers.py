"""The local engines start, work and go away."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3
import pytest

from leasehold.kernel.errors import ServerUnavailableError
from tests import servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

ROOT = Path(__file__).parent.parent


@pytest.mark.dynoxide
def test_dynoxide_keeps_an_item(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]):
    assert_keeps_an_item(make_client(dynoxide_endpoint))


@pytest.mark.ministack
def test_ministack_keeps_an_item(ministack_endpoint: str, make_client: Callable[[str], DynamoDBClient]):
    assert_keeps_an_item(make_client(ministack_endpoint))


@pytest.mark.dynoxide
def test_a_dynoxide_is_gone_after_its_block(dynoxide_endpoint: str):
    with servers.dynoxide(root=ROOT) as server:
        pid, port = server.pid, server.port
        assert server.endpoint != dynoxide_endpoint
        assert_listens(port)
    assert_gone(pid, port)


@pytest.mark.ministack
def test_a_ministack_that_ran_a_lambda_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with servers.ministack(root=ROOT) as server:
        pid, port = server.pid, server.port
        assert invoke_a_lambda(server.endpoint) == {"ran": True}
        assert list(tmp_path.glob("*/ministack-lambda-*"))
    assert_gone(pid, port)
    assert not list(tmp_path.iterdir())


def test_a_server_is_gone_when_its_block_fails():
    server = listener(servers.free_port())
    started: list[int | None] = []

    def fail_inside() -> None:
        with server:
            started.append(server.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert_gone(started[0], server.port)


def test_a_server_takes_its_children_with_it(tmp_path: Path):
    note = tmp_path / "child"
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    server = listener(
        servers.free_port(),
        "import subprocess, sys, pathlib",
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])",
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))",
    )
    with server:
        child_pid = int(note.read_text())
        assert is_running(child_pid)
    # It is nobody's child by now, so nobody can wait for its end: the kernel needs a moment.
    deadline = time.monotonic() + 5
    while is_running(child_pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child_pid)


def test_a_stopped_server_can_be_started_again_on_its_port():
    port = servers.free_port()
    server = listener(port)
    for _ in range(2):
        server.start()
        assert_listens(port)
        server.stop()
        server.stop()


def test_a_server_that_dies_shows_the_end_of_its_log():
    command = [sys.executable, "-c", "import sys; print('the port is cursed'); sys.exit(3)"]
    server = servers.Server("doomed", command, port=servers.free_port())
    with pytest.raises(ServerUnavailableError, match=r"exited with code 3(?s:.*)the port is cursed"):
        server.start()
    assert server.pid is None


def test_a_missing_program_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerUnavailableError, match="make setup"):
        servers.ministack(root=tmp_path)


def test_a_program_that_cannot_run_says_what_to_do():
    server = servers.Server("broken", ["/nowhere/program"], port=servers.free_port())
    with pytest.raises(ServerUnavailableError, match=r"/nowhere/program.*make clean setup"):
        server.start()


@pytest.mark.dynoxide
def test_a_relative_root_is_that_of_the_caller(dynoxide_endpoint: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    with servers.dynoxide(root=Path()) as server:
        assert_listens(server.port)


def test_real_credentials_do_not_reach_a_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a real one")
    command = [sys.executable, "-c", "import os; print([n for n in os.environ if n.startswith('AWS_')])"]
    with pytest.raises(ServerUnavailableError, match=r"log:\n\[\]"):
        servers.Server("nosy", command, port=servers.free_port()).start()


def assert_keeps_an_item(client: DynamoDBClient) -> None:
    table = f"sanity-{uuid4()}"
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
    )
    item = {"PK": {"S": "job"}, "attempt": {"N": "1"}}
    client.put_item(TableName=table, Item=item)
    found = client.get_item(TableName=table, Key={"PK": {"S": "job"}}, ConsistentRead=True)
    assert found["Item"] == item


def assert_listens(port: int) -> None:
    socket.create_connection((servers.HOST, port), timeout=2).close()


def assert_gone(pid: int | None, port: int) -> None:
    assert pid is not None
    assert not is_running(pid)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((servers.HOST, port), timeout=2)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A killed orphan stays in the process table until init collects it; it no longer runs.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def invoke_a_lambda(endpoint: str) -> object:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("handler.py", "def handle(event, context):\n    return {'ran': True}\n")
    client = boto3.client("lambda", endpoint_url=endpoint)
    client.create_function(
        FunctionName="sanity",
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/sanity",
        Handler="handler.handle",
        Code={"ZipFile": archive.getvalue()},
    )
    answer = json.loads(client.invoke(FunctionName="sanity")["Payload"].read())
    client.close()
    return answer


def listener(port: int, *first: str) -> servers.Server:
    """A server of a few lines: it runs `first`, then listens."""
    listen = f"server = socket.create_server(({servers.HOST!r}, {port}))"
    lines = [*first, "import socket, time", listen, "time.sleep(60)"]
    return servers.Server("listener", [sys.executable, "-c", "\n".join(lines)], port=port)
