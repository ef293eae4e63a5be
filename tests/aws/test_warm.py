"""A function connects while it starts, in Lambda and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.aws.clients import warm
from leasehold.kernel.errors import StoreUnavailableError
from tests.benchmarks.imports import FUNCTIONS, LAYER

if TYPE_CHECKING:
    from collections.abc import Callable

IN_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME"
LOADED = "import sys, leasehold.runtime.entry; print('botocore' in sys.modules, 'handler' in sys.modules)"


class Opened:
    """A container that notes what is asked of it."""

    def __init__(self, registry: Callable[[], object]) -> None:
        self.services = self.deployment = self
        self.registry = registry


def open_with(asked: list[str], error: Exception | None = None) -> Callable[[], Any]:
    def registry() -> None:
        asked.append("registry")
        if error is not None:
            raise error

    return lambda: Opened(registry)


def test_in_lambda_the_start_connects_and_reads_what_every_run_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_LAMBDA, "daily-summary")
    asked: list[str] = []

    warm(open_with(asked))

    assert asked == ["registry"]


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(IN_LAMBDA, raising=False)

    warm(lambda: pytest.fail("it connected"))


def test_what_fails_at_the_start_is_left_to_the_invocation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_LAMBDA, "daily-summary")

    warm(open_with([], StoreUnavailableError("not yet")))


@pytest.mark.parametrize("in_lambda", [True, False])
def test_the_entry_of_a_job_function_connects_and_imports_its_handler_in_lambda_only(*, in_lambda: bool) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if name != IN_LAMBDA},
        "PYTHONPATH": os.pathsep.join([str(FUNCTIONS / "jobs" / "daily_summary"), str(LAYER)]),
        "LEASEHOLD_HANDLER": "handler",
        "LEASEHOLD_JOBS_TABLE": "jobs",
        "LEASEHOLD_DEAD_LETTERS_TABLE": "dead-letters",
        # Nobody listens there, and one try is enough.
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "1",
        **({IN_LAMBDA: "function"} if in_lambda else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=False, timeout=50
    )

    assert (done.returncode, done.stdout.strip()) == (0, f"{in_lambda} {in_lambda}"), done.stderr
