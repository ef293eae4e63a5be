"""The entry of a job function imports its handler itself: what cannot start is a run with its error."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from app import ROOT
from leasehold.aws import names as variables
from leasehold.functions.poller import lambda_handler as poll
from leasehold.runtime import entry
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leasehold import Queue
    from leasehold.kernel.job import Job
    from tests.functions.conftest import FakeLambda

pytestmark = pytest.mark.dynoxide

WORKS = """
    from functions_of_a_test.jobs.daily_summary.payload import Summary
    from leasehold import job

    @job
    def summarise(payload: Summary) -> str:
        return payload.user_id
"""
PAYLOAD = """
    from pydantic import BaseModel

    class Summary(BaseModel):
        user_id: str
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a handler where a deployed function finds it: in a folder that is all there is of its project."""
    monkeypatch.setenv(variables.HANDLER, "functions_of_a_test.jobs.daily_summary.handler")
    monkeypatch.setenv("LAMBDA_TASK_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "payload.py").write_text(dedent(PAYLOAD))

    def put(source: str) -> None:
        (tmp_path / "handler.py").write_text(dedent(source))
        entry._loaded.clear()

    yield put
    for name in [name for name in sys.modules if name.startswith("functions_of_a_test")]:
        del sys.modules[name]


def ran(queue: Queue, aws_lambda: FakeLambda, *, max_attempts: int | None = None) -> Job:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}, max_attempts=max_attempts).job_id
    poll({}, FakeContext())
    aws_lambda.run_all()
    return queue.get(job_id)


def test_a_handler_imports_its_neighbours_by_the_names_they_have_in_its_project(
    queue: Queue, aws_lambda: FakeLambda, folder: Callable[[str], None]
) -> None:
    folder(WORKS)

    assert ran(queue, aws_lambda).result == "u1"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import not_installed\n" + dedent(WORKS), "ModuleNotFoundError: No module named 'not_installed'"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("import os\n\nTOKEN = os.environ['API_TOKEN']\n" + dedent(WORKS), "KeyError: 'API_TOKEN'"),
        ("import sys\n\nsys.exit('not today')\n", "SystemExit: not today"),
        ("x = 1\n", "a job folder has one handler; functions_of_a_test.jobs.daily_summary.handler has none."),
        ("from leasehold import job\n\n@job\ndef f(payload: int): ...\n", "annotated with no pydantic model"),
    ],
    ids=["import", "syntax", "environment", "exit", "no handler", "no model"],
)
def test_one_that_cannot_start_is_a_failed_run_with_its_reason_and_is_tried_again(
    queue: Queue, aws_lambda: FakeLambda, folder: Callable[[str], None], source: str, said: str
) -> None:
    folder(source)

    job = ran(queue, aws_lambda)

    assert (job.status, job.attempts) == ("failed", 1)
    assert said in (job.last_error or "")
    assert [run.outcome for run in job.runs] == ["FAILED"]
    # What its reader can act on: the lines of the handler, not those of the import.
    assert "importlib" not in (job.last_error or "")


def test_a_handler_that_hangs_at_its_import_is_timed_out(
    queue: Queue, aws_lambda: FakeLambda, folder: Callable[[str], None]
) -> None:
    folder("import time\ntime.sleep(60)\n")
    queue.enqueue("daily_summary", {"user_id": "u1"})
    poll({}, FakeContext())
    (_, event) = aws_lambda.invoked.pop()

    answer = entry.lambda_handler(event, FakeContext(remaining_millis=2_200))

    assert answer["execution"] == "failed"
    assert queue.get(event["job_id"]).last_error_code == "handler_cannot_start"


def test_the_next_run_imports_it_anew(
    queue: Queue, aws_lambda: FakeLambda, folder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder("import os\n\nTOKEN = os.environ['API_TOKEN']\n" + dedent(WORKS))
    # For its next attempt the next poll would wait.
    assert ran(queue, aws_lambda, max_attempts=1).status == "dead_letter"
    monkeypatch.setenv("API_TOKEN", "t")

    assert ran(queue, aws_lambda).result == "u1"


def described() -> dict[str, Any]:
    return entry.lambda_handler({"source": variables.DESCRIBE_SOURCE}, FakeContext())


def test_it_describes_its_handler_and_the_schema_of_its_payloads(
    queue: Queue, cold_start: None, folder: Callable[[str], None]
) -> None:
    folder(WORKS)

    assert described() == {
        "handler": "functions_of_a_test.jobs.daily_summary.handler.summarise",
        "schema": {
            "title": "Summary",
            "type": "object",
            "properties": {"user_id": {"title": "User Id", "type": "string"}},
            "required": ["user_id"],
        },
        "shape": {"is": "object", "fields": [[["user_id"], True, {"is": "str"}]]},
    }


def test_what_cannot_start_describes_why(queue: Queue, cold_start: None, folder: Callable[[str], None]) -> None:
    folder("import not_installed\n")

    assert described()["error"].endswith("ModuleNotFoundError: No module named 'not_installed'")


# As Lambda has it: the entry is imported, then it is invoked. Prints which classes the invocation still compiled.
FRESH = """
import dataclasses, json, sys
from leasehold.runtime import entry
from tests.functions.conftest import FakeContext

compiled, make = [], dataclasses.make_dataclass
dataclasses.make_dataclass = lambda name, *given, **more: (compiled.append(name), make(name, *given, **more))[1]
answer = entry.lambda_handler(json.loads(sys.argv[1]), FakeContext())
print(json.dumps({"execution": answer["execution"], "compiled": compiled}))
"""


def test_a_run_compiles_no_class_that_its_function_did_not_compile_while_it_started(
    queue: Queue, aws_lambda: FakeLambda, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue("daily_summary", {"user_id": "u1"})
    poll({}, FakeContext())
    ((_, event),) = aws_lambda.invoked
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "daily-summary")

    command = [sys.executable, "-c", FRESH, json.dumps(event)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)

    assert json.loads(done.stdout.splitlines()[-1]) == {"execution": "completed", "compiled": []}
