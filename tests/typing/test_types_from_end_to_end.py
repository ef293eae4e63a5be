"""What mypy says, strict, about a project with a new job type: correct is clean, each mistake is an error."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from leasehold.cli.new import write_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CORRECT = """
from datetime import timedelta

from pydantic import BaseModel

from functions.jobs.send_invoice.payload import SendInvoice
from leasehold import BaseJobHandler, Enqueued, JobContext, Queue, job


class Order(BaseModel):
    number: int


class Typed(BaseJobHandler[Order]):
    def handle(self, payload: Order) -> int:
        return payload.number


class WithContext(BaseJobHandler[Order]):
    async def handle(self, payload: Order, context: JobContext) -> int:
        return payload.number + context.attempt


class AsBefore(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Order]:
        return Order

    def handle(self, payload: Order, context: JobContext) -> int:
        return payload.number


@job
def plain(payload: Order) -> int:
    return payload.number


@job
async def later(payload: Order, context: JobContext) -> int:
    return payload.number


def enqueue(queue: Queue) -> Enqueued:
    queue.enqueue("send_invoice", {"subject": "ada"}, run_in=timedelta(minutes=5))
    queue.enqueue("order", Order(number=plain(Order(number=1))))
    queue.transact_items(SendInvoice(subject="ada"), dedup_key="ada")
    return queue.enqueue(SendInvoice(subject="ada"), dedup_key="ada")
"""

# Each line that mypy must refuse says so itself.
MISTAKES = """
from pydantic import BaseModel

from functions.jobs.send_invoice.payload import SendInvoice
from leasehold import BaseJobHandler, JobContext, Queue, job


class Order(BaseModel):
    number: int


class WrongHandle(BaseJobHandler[SendInvoice]):
    def handle(self, payload: Order) -> None: ...  # error: [override]


class WrongContext(BaseJobHandler[Order]):
    def handle(self, payload: Order, context: str) -> None: ...  # error: [override]


class WrongModel(BaseJobHandler[Order]):
    @classmethod
    def payload_model(cls) -> type[SendInvoice]:  # error: [override]
        return SendInvoice

    def handle(self, payload: Order) -> None: ...


class NoModel(BaseJobHandler[int]):  # error: [type-var]
    pass


@job  # error: [type-var]
def three(payload: Order, context: JobContext, third: int) -> None: ...


def enqueue(queue: Queue) -> None:
    queue.enqueue(SendInvoice(subject=1))  # error: [arg-type]
    queue.enqueue(SendInvoice(subjct="ada"))  # error: [call-arg]
    queue.enqueue(Order(number=1))  # error: [arg-type]
    queue.enqueue("send_invoice", {"subject": "ada"}, dedup_keys="ada")  # error: [call-arg]
    queue.enqueue("send_invoice", {"subject": "ada"}, priority="soon")  # error: [arg-type]
    queue.enqueue("send_invoice", {"subject": "ada"}, on_duplicate=1)  # error: [arg-type]
    queue.transact_items("send_invoice", {"subject": "ada"}, debounce=None)  # error: [call-arg]
    queue.transact_items("send_invoice", {"subject": "ada"}, dedup_keys="ada")  # error: [call-arg]
    queue.transact_items("send_invoice", {"subject": "ada"}, priority="soon")  # error: [arg-type]
    queue.transact_items("send_invoice", {"subject": "ada"}, on_duplicate="raise")  # error: [call-arg]
"""

SETTINGS = """
[mypy]
strict = True
explicit_package_bases = True
namespace_packages = True
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Each line that it has about both programs and what the scaffold writes: one run, as most of it is the library."""
    root = tmp_path_factory.mktemp("project")
    write_job("send_invoice", root)
    (root / "mypy.ini").write_text(SETTINGS)
    (root / "correct.py").write_text(CORRECT)
    (root / "mistakes.py").write_text(MISTAKES)
    checked = ["correct.py", "mistakes.py", "functions", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", *checked],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


def test_the_correct_program_and_what_the_scaffold_writes_are_clean(said: list[str]) -> None:
    assert [line for line in said if not line.startswith("mistakes.py:")] == []


def test_every_listed_mistake_is_an_error_of_its_line(said: list[str]) -> None:
    expected = {
        (number, code)
        for number, line in enumerate(MISTAKES.splitlines(), start=1)
        for code in re.findall(r"# error: (\[.+\])", line)
    }

    errors = (re.match(r"mistakes.py:(\d+): error: .*(\[.+\])$", line) for line in said)
    found = {(int(error[1]), error[2]) for error in errors if error}

    assert found == expected, said
