"""What every function of ours is made of, whatever it does."""

from __future__ import annotations

import json
import platform
from importlib import import_module
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Match, Template

from app import job_folders
from infra.environments import ENVIRONMENTS, Environment, environment_named
from leasehold.cdk import JobQueue
from leasehold.job_folders.folder import function_timeout
from tests.infra.cloudformation import Resolver
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, synthesised, template_of

FUNCTION = "AWS::Lambda::Function"
# The local AWS runs functions on the machine that it runs on; but a template says what it is told.
ARCHITECTURES = {"dev": "arm64", "prod": "arm64", "local": "arm64"}
everywhere = pytest.mark.parametrize("stage", ENVIRONMENTS, ids=lambda stage: stage.name)


def function_of(stage: str, name: str) -> dict[str, Any]:
    (found,) = (
        each["Properties"]
        for each in synthesised(stage).of_type(FUNCTION).values()
        if each["Properties"]["FunctionName"] == f"leasehold-{stage}-{name}"
    )
    return dict(found)


@everywhere
def test_every_function_runs_our_code_on_the_architecture_of_its_stage(stage: Environment) -> None:
    template = template_of(stage.name)

    template.all_resources_properties(
        FUNCTION,
        {
            "Runtime": "python3.13",
            "Architectures": [ARCHITECTURES[stage.name]],
            "Layers": [{"Ref": Match.any_value()}, {"Ref": Match.any_value()}],
        },
    )


@everywhere
def test_code_and_packages_are_two_layers(stage: Environment) -> None:
    layers = [each["Properties"] for each in synthesised(stage.name).of_type("AWS::Lambda::LayerVersion").values()]
    architectures = {each["LayerName"]: each.get("CompatibleArchitectures") for each in layers}

    assert architectures == {
        f"leasehold-{stage.name}-code": None,
        f"leasehold-{stage.name}-dependencies": [ARCHITECTURES[stage.name]],
    }
    assert all(each["CompatibleRuntimes"] == ["python3.13"] for each in layers)


def test_on_the_local_aws_functions_are_built_for_this_machine() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING, "leasehold:local": "true"})
    JobQueue(Stack(app, "stack"), "Jobs")

    expected = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    (stack,) = (each for each in app.node.children if isinstance(each, Stack))
    Template.from_stack(stack).all_resources_properties(FUNCTION, {"Architectures": [expected]})


def test_the_systems_functions_run_from_the_layer_and_handlers_from_their_folder() -> None:
    for each in synthesised("dev").of_type(FUNCTION).values():
        name = each["Properties"]["Environment"]["Variables"]["LEASEHOLD_FUNCTION"]
        if name.startswith("job-"):
            assert each["Properties"]["Handler"] == "leasehold.runtime.entry.lambda_handler"
            assert "S3Bucket" in each["Properties"]["Code"]
            # The entry is ours and imports the handler, by the name that it has in its project.
            told = each["Properties"]["Environment"]["Variables"]
            assert told["LEASEHOLD_HANDLER"] == f"functions.jobs.{name.removeprefix('job-')}.handler"
        else:
            module = name.replace("-", "_")
            assert each["Properties"]["Handler"] == "index.lambda_handler"
            assert each["Properties"]["Code"] == {
                "ZipFile": f"from leasehold.functions.{module} import lambda_handler\n"
            }
            assert callable(import_module(f"leasehold.functions.{module}").lambda_handler)


@everywhere
def test_every_function_writes_to_a_log_group_of_its_own_that_forgets(stage: Environment) -> None:
    functions = synthesised(stage.name).of_type(FUNCTION).values()
    groups = synthesised(stage.name).of_type("AWS::Logs::LogGroup")
    used = [each["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] for each in functions]

    # The gateway of the API has one, too, which is no function's.
    assert sorted(used) == sorted(name for name in groups if "AccessLog" not in name)
    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == stage.log_retention_days
        assert group["DeletionPolicy"] == ("Retain" if stage.keeps_data else "Delete")
        # A group with a name would be in the way when its job type comes back.
        assert "LogGroupName" not in group["Properties"]


@everywhere
def test_an_asynchronous_event_is_never_tried_again_and_never_outlives_its_lease(stage: Environment) -> None:
    made = synthesised(stage.name)
    resolver = Resolver(made)
    configs = {
        resolver.resolve(each["Properties"]["FunctionName"]): each["Properties"]
        for each in made.of_type("AWS::Lambda::EventInvokeConfig").values()
    }

    assert configs.keys() == {each["Properties"]["FunctionName"] for each in made.of_type(FUNCTION).values()}
    assert {each["MaximumRetryAttempts"] for each in configs.values()} == {0}
    for folder in job_folders(stage):
        age = configs[f"leasehold-{stage.name}-job-{folder.name}"]["MaximumEventAgeInSeconds"]
        assert age == folder.job_type.max_event_age.total_seconds()
        assert age < folder.job_type.full_lease.total_seconds()


@everywhere
def test_a_handler_has_what_its_folder_says(stage: Environment) -> None:
    for folder in job_folders(stage):
        function = function_of(stage.name, f"job-{folder.name}")
        assert function["Timeout"] == function_timeout(folder.job_type).total_seconds()
        assert function["MemorySize"] == folder.memory_mb
        assert function.get("ReservedConcurrentExecutions") == folder.reserved_concurrency


@everywhere
def test_functions_are_told_their_tables_their_namespace_and_their_stage(stage: Environment) -> None:
    resolver = Resolver(synthesised(stage.name))
    for each in synthesised(stage.name).of_type(FUNCTION).values():
        told = resolver.resolve(each["Properties"]["Environment"]["Variables"])
        assert told["LEASEHOLD_JOBS_TABLE"] == f"leasehold-{stage.name}-jobs"
        assert told["LEASEHOLD_DEAD_LETTERS_TABLE"] == f"leasehold-{stage.name}-dead-letters"
        assert told["LEASEHOLD_METRICS_NAMESPACE"] == f"Leasehold/{stage.name}"
        assert told["LEASEHOLD_QUEUE_NAME"] == told["LEASEHOLD_ENVIRONMENT_NAME"] == stage.name
        # What a receiver of webhooks does wrong is not reported: its sender knows no Sentry.
        is_sender = each["Properties"]["FunctionName"].endswith("webhook-sender")
        has_sentry = not each["Properties"]["FunctionName"].endswith(
            ("webhook-sender", "audit-root", "-api", "direct-runner")
        )
        assert told.get("LEASEHOLD_SENTRY_DSN_SECRET") == (secret_of(stage.sentry_dsn) if has_sentry else None)
        assert told.get("LEASEHOLD_WEBHOOK_KEYS_SECRET") == (secret_of(stage.webhook_keys) if is_sender else None)
        assert "LEASEHOLD_WEBHOOK_LOOPBACK_AUTHORITY" not in told


def test_the_dsn_itself_stands_in_no_template() -> None:
    made = synthesised("prod")

    assert secret_of(environment_named("prod").sentry_dsn)
    assert "https://" not in json.dumps(made.of_type(FUNCTION))


def secret_of(place: str | None) -> str | None:
    return place if place and not place.startswith("/") else None
