"""What importing Leasehold costs and offers. Imports are cold starts, so each path is held to what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import leasehold
from tests.benchmarks import imports

HEAVY = (
    "boto3",
    "botocore",
    "cronsim",
    "pydantic",
    "sentry_sdk",
    "typer",
    "rich",
    "aws_lambda_powertools",
    "pytest",
    "hypothesis",
)
EXPORTED = [
    "BaseJobHandler",
    "Cancel",
    "CircuitBreaker",
    "ConcurrencyPolicy",
    "Day",
    "DeadLetter",
    "Delays",
    "DeployedLimits",
    "Enqueued",
    "Exponential",
    "Fixed",
    "Group",
    "GroupCreated",
    "GroupMode",
    "GroupState",
    "InTheGap",
    "Job",
    "JobContext",
    "JobScheduler",
    "JobSchedulerProtocol",
    "JobStatus",
    "JobType",
    "LeaseholdError",
    "Limit",
    "Missed",
    "NewJob",
    "NonRetryableError",
    "OnDuplicate",
    "OnFailure",
    "OnFull",
    "Operator",
    "Outcome",
    "Overlap",
    "Poller",
    "Priority",
    "Queue",
    "Rate",
    "Registry",
    "Rejected",
    "Retention",
    "Run",
    "Schedule",
    "Skip",
    "Snooze",
    "Template",
    "TransactEnqueue",
    "UntilEnded",
    "WhenRepeated",
    "Within",
    "Worker",
    "current_trace",
    "job",
    "trace_context",
]


def imported_by(*modules: str, also: str = "") -> set[str]:
    """Which heavy libraries a fresh interpreter has loaded after these imports."""
    script = f"import sys, {', '.join(modules)}\n{also}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50)
    return set(done.stdout.split())


def loaded_by(function: str) -> set[str]:
    """Every module that a deployed function has loaded when it could make its first call."""
    folder = imports.ROOT / function
    return set(imports.loaded(folder))


def test_the_package_itself_loads_nothing():
    assert imported_by("leasehold") == set()


def test_the_poller_s_path_loads_the_aws_client_and_nothing_of_the_handlers():
    path = (
        "leasehold.kernel.poll",
        "leasehold.kernel.dynamodb.table",
        "leasehold.aws.dispatcher",
        "leasehold.queue",
    )

    assert imported_by(*path) <= {"boto3", "botocore"}


def test_a_poller_could_make_its_first_call_with_little_more_than_a_bare_client():
    # Counted, not timed: each of these was a part of every cold start once.
    loaded = loaded_by("functions/poller")

    assert not loaded & {"boto3", "s3transfer", "pydantic", "sentry_sdk", "cronsim", "aws_xray_sdk"}
    of_ours = {name for name in loaded if name.startswith("leasehold.")}
    # No feature's code before an entry needs it.
    features = {"audit", "batches", "circuit_breaker", "direct_runs", "groups", "limits", "operate", "schedules"}
    features |= {"bulk", "housekeeping", "schemas", "templates", "webhooks"}
    assert not {name for name in of_ours if name.split(".")[1] in features}
    assert not of_ours & {f"leasehold.kernel.{verb}" for verb in ("reap", "enqueue", "dedup")}
    assert len(of_ours) <= 62  # with the entry itself, which runs from the layer


def test_a_handler_could_make_its_first_call_without_what_only_few_runs_need():
    loaded = loaded_by("functions/jobs/user_sync")

    assert not loaded & {"boto3", "s3transfer", "sentry_sdk", "cronsim", "aws_xray_sdk"}
    assert len({name for name in loaded if name.startswith("leasehold.")}) <= 62


def test_enqueueing_loads_the_aws_client_only_when_it_connects():
    assert (
        imported_by("leasehold", also="leasehold.Queue, leasehold.Day, leasehold.NewJob, leasehold.Operator") == set()
    )


def test_a_worker_brings_nothing_and_leaves_pydantic_to_the_handlers_models():
    assert imported_by("leasehold", also="leasehold.BaseJobHandler, leasehold.Worker") == set()


def test_the_pytest_plug_in_costs_a_test_run_nothing():
    assert imported_by("leasehold.testing.plugin") <= {"pytest"}


def test_the_exported_names_are_these():
    assert leasehold.__all__ == EXPORTED
    assert dir(leasehold) == EXPORTED


@pytest.mark.parametrize("name", EXPORTED)
def test_every_exported_name_resolves_to_what_its_home_calls_so(name):
    value = getattr(leasehold, name)

    assert value.__name__ == name
    assert value.__module__.startswith("leasehold.")


def test_another_name_is_an_attribute_error_like_that_of_any_module():
    with pytest.raises(AttributeError, match="module 'leasehold' has no attribute 'Quue'"):
        leasehold.Quue  # noqa: B018
    assert not hasattr(leasehold, "pydantic")
