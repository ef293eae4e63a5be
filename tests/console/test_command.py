"""`leasehold console` as its operator starts it: a process of its own, on a real table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.console.server import ConsoleServer
from leasehold.kernel.errors import ServerUnavailableError
from leasehold.kernel.job_type import JobType
from leasehold.testing import LeaseholdTest
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

LEASEHOLD = Path(sys.executable).parent / "leasehold"


@pytest.mark.slow
@pytest.mark.dynoxide
def test_the_command_prints_an_address_that_opens_the_queue_and_ends_with_ctrl_c(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
):
    real = RealQueue(make_client(dynoxide_endpoint), [JobType(name="greet")])
    job_id = real.queue.enqueue("greet", {"user": "ada"}).job_id
    tables = ("--jobs-table", real.names.jobs, "--dead-letters-table", real.names.dead_letters)
    command = [str(LEASEHOLD), "console", "--port", "0", "--json", "--endpoint-url", dynoxide_endpoint, *tables]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        address, _, secret = url.partition("/#token=")
        assert address.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/api/jobs", timeout=10)

        request = urllib.request.Request(f"{address}/api/jobs", headers={"X-Leasehold-Console": secret})
        page = json.loads(urllib.request.urlopen(request, timeout=10).read())
        assert [job["job_id"] for job in page["items"]] == [job_id]
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_told_with_what_to_do(console: ConsoleServer):
    with pytest.raises(ServerUnavailableError, match="--port 0"):
        ConsoleServer(LeaseholdTest().services, port=console.port)
