"""What every function of ours is made of, whatever it does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match

from app import job_folders
from infra.function import checked_name
from infra.stages import STAGES, Stage, stage_named
from tests.infra.cloudformation import Resolver
from tests.infra.synthesised import synthesised, template_of

FUNCTION = "AWS::Lambda::Function"
everywhere = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)


def function_of(stage: str, name: str) -> dict[str, Any]:
    (found,) = (
        each["Properties"]
        for each in synthesised(stage).of_type(FUNCTION).values()
        if each["Properties"]["FunctionName"] == f"leasehold-{stage}-{name}"
    )
    return dict(found)


@everywhere
def test_every_function_runs_our_code_on_the_architecture_of_its_stage(stage: Stage) -> None:
    template = template_of(stage.name)

    template.all_resources_properties(
        FUNCTION,
        {
            "Runtime": "python3.13",
            "Architectures": [stage.architecture],
            "Layers": [{"Ref": Match.any_value()}, {"Ref": Match.any_value()}],
        },
    )


@everywhere
def test_the_entry_of_a_job_function_is_ours_and_imports_its_handler(stage: Stage) -> None:
    for function in synthesised(stage.name).of_type(FUNCTION).values():
        properties = function["Properties"]
        name = properties["FunctionName"].removeprefix(f"leasehold-{stage.name}-")
        if not name.startswith("job-"):
            assert properties["Handler"] == "handler.lambda_handler"
            continue
        assert properties["Handler"] == "leasehold.runtime.entry.lambda_handler"
        module = properties["Environment"]["Variables"]["LEASEHOLD_HANDLER"]
        assert module.endswith(f".{name.removeprefix('job-')}.handler")


@everywhere
def test_code_and_packages_are_two_layers(stage: Stage) -> None:
    layers = [each["Properties"] for each in synthesised(stage.name).of_type("AWS::Lambda::LayerVersion").values()]
    architectures = {each["LayerName"]: each.get("CompatibleArchitectures") for each in layers}

    assert architectures == {
        f"leasehold-{stage.name}-code": None,
        f"leasehold-{stage.name}-dependencies": [stage.architecture],
    }
    assert all(each["CompatibleRuntimes"] == ["python3.13"] for each in layers)


def test_both_architectures_can_be_had() -> None:
    assert {stage.architecture for stage in STAGES} == {"arm64", "x86_64"}


@everywhere
def test_every_function_writes_to_a_log_group_of_its_own_that_forgets(stage: Stage) -> None:
    functions = synthesised(stage.name).of_type(FUNCTION).values()
    groups = synthesised(stage.name).of_type("AWS::Logs::LogGroup")
    used = [each["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] for each in functions]

    # The gateway of the API has one, too, which is no function's.
    assert sorted(used) == sorted(name for name in groups if "AccessLog" not in name)
    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == stage.log_retention_days
        assert group["DeletionPolicy"] == ("Retain" if stage.keeps_data else "Delete")
        # A kept group with a name would be in the way when its job type comes back.
        assert ("LogGroupName" in group["Properties"]) is not stage.keeps_data


@everywhere
def test_an_asynchronous_event_is_never_tried_again_and_never_outlives_its_lease(stage: Stage) -> None:
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
def test_a_handler_has_what_its_folder_says(stage: Stage) -> None:
    for folder in job_folders(stage):
        function = function_of(stage.name, f"job-{folder.name}")
        assert function["Timeout"] == folder.job_type.function_timeout.total_seconds()
        assert function["MemorySize"] == folder.memory_mb
        assert function.get("ReservedConcurrentExecutions") == folder.reserved_concurrency


@everywhere
def test_functions_are_told_their_tables_their_namespace_and_their_stage(stage: Stage) -> None:
    resolver = Resolver(synthesised(stage.name))
    for each in synthesised(stage.name).of_type(FUNCTION).values():
        told = resolver.resolve(each["Properties"]["Environment"]["Variables"])
        assert told["LEASEHOLD_JOBS_TABLE"] == f"leasehold-{stage.name}-jobs"
        assert told["LEASEHOLD_DEAD_LETTERS_TABLE"] == f"leasehold-{stage.name}-dead-letters"
        assert told["LEASEHOLD_METRICS_NAMESPACE"] == f"Leasehold/{stage.name}"
        assert told["LEASEHOLD_STAGE"] == stage.name
        # What a receiver of webhooks does wrong is not reported: its sender knows no Sentry.
        is_sender = each["Properties"]["FunctionName"].endswith("webhook-sender")
        has_sentry = not is_sender and not each["Properties"]["FunctionName"].endswith("audit-root")
        assert told.get("LEASEHOLD_SENTRY_DSN_SECRET") == (stage.sentry_dsn_secret if has_sentry else None)
        assert told.get("LEASEHOLD_WEBHOOK_KEYS_SECRET") == (stage.webhook_keys_secret if is_sender else None)
        assert "LEASEHOLD_WEBHOOK_LOOPBACK_AUTHORITY" not in told


def test_the_dsn_itself_stands_in_no_template() -> None:
    made = synthesised("prod")

    assert stage_named("prod").sentry_dsn_secret
    assert "https://" not in json.dumps(made.of_type(FUNCTION))


def test_a_name_that_lambda_would_refuse_is_refused_at_synth() -> None:
    assert checked_name("x" * 64)
    with pytest.raises(ValueError, match=r"of 65 characters; Lambda takes 64\. Shorten the name of the job type"):
        checked_name("x" * 65)
