"""What starts the poller and the reporter: the tick, the sweep, and the streams of both tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.environments import ENVIRONMENTS
from leasehold.aws.polling import Wake
from leasehold.functions.dead_letter_reporter import SWEEP
from leasehold.pollers.waiting import WaitingSettings
from leasehold.telemetry import TICK
from tests.infra.cloudformation import Resolver
from tests.infra.synthesised import synthesised

STAGE_NAMES = [stage.name for stage in ENVIRONMENTS]
everywhere = pytest.mark.parametrize("stage", STAGE_NAMES)


def mappings(stage: str) -> dict[str, dict[str, Any]]:
    """The stream mappings by the function that they wake."""
    found = resolved(stage, "AWS::Lambda::EventSourceMapping")
    return {each["FunctionName"].removeprefix(f"leasehold-{stage}-"): each for each in found}


def schedules(stage: str) -> dict[str, dict[str, Any]]:
    return {
        each["Name"].removeprefix(f"leasehold-{stage}-"): each for each in resolved(stage, "AWS::Scheduler::Schedule")
    }


def resolved(stage: str, resource_type: str) -> list[dict[str, Any]]:
    made = synthesised(stage)
    return [Resolver(made).resolve(each["Properties"]) for each in made.of_type(resource_type).values()]


@everywhere
def test_each_stream_wakes_the_function_that_follows_it(stage: str) -> None:
    streams = {name: each["EventSourceArn"].split("table/")[1].split("/")[0] for name, each in mappings(stage).items()}

    assert streams == {
        "poller": f"leasehold-{stage}-jobs",
        "dead-letter-reporter": f"leasehold-{stage}-dead-letters",
    }


@everywhere
@pytest.mark.parametrize("function", ["poller", "dead-letter-reporter"])
def test_a_bad_record_cannot_block_its_stream(stage: str, function: str) -> None:
    mapping = mappings(stage)[function]

    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    assert 0 <= mapping["MaximumRetryAttempts"] < 10_000
    # Within the day that a stream keeps its records, or the destination would never see one.
    assert 60 <= mapping["MaximumRecordAgeInSeconds"] < 24 * 3600
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"].rpartition(":")[2] in {
        f"leasehold-{stage}-undelivered-wakes",
        f"leasehold-{stage}-undelivered-reports",
    }


@everywhere
def test_a_wake_is_given_up_soon_and_a_report_is_not(stage: str) -> None:
    """The tick finds what a wake missed; a dead letter must reach Sentry, which may be down for hours."""
    wake, report = (mappings(stage)[name] for name in ("poller", "dead-letter-reporter"))

    assert wake["MaximumRecordAgeInSeconds"] <= 60
    assert wake["StartingPosition"] == "LATEST"
    assert report["MaximumRecordAgeInSeconds"] >= 12 * 3600
    assert report["StartingPosition"] == "TRIM_HORIZON"


@everywhere
def test_the_stream_wakes_the_poller_only_where_the_writer_asked_for_it(stage: str) -> None:
    (pattern,) = filters(mappings(stage)["poller"])

    assert pattern == {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"wake": {"BOOL": [True]}}}}


@everywhere
def test_the_reporter_is_told_of_new_dead_letters_only(stage: str) -> None:
    assert filters(mappings(stage)["dead-letter-reporter"]) == [{"eventName": ["INSERT"]}]


def filters(mapping: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]


@everywhere
def test_the_tick_comes_each_minute_on_time(stage: str) -> None:
    tick = schedules(stage)["tick"]

    assert (tick["ScheduleExpression"], tick["FlexibleTimeWindow"]) == ("rate(1 minute)", {"Mode": "OFF"})
    assert tick["Target"]["Arn"].endswith(f":function:leasehold-{stage}-poller")
    assert Wake.parse(json.loads(tick["Target"]["Input"])).channel == TICK


@everywhere
def test_the_sweep_comes_each_hour_and_is_known_as_one(stage: str) -> None:
    sweep = schedules(stage)["dead-letter-sweep"]

    assert sweep["ScheduleExpression"] == "rate(1 hour)"
    assert sweep["Target"]["Arn"].endswith(f":function:leasehold-{stage}-dead-letter-reporter")
    assert json.loads(sweep["Target"]["Input"])["source"] == SWEEP


@everywhere
def test_the_poller_outlives_a_resident(stage: str) -> None:
    (poller,) = (
        each["Properties"]
        for each in synthesised(stage).of_type("AWS::Lambda::Function").values()
        if each["Properties"]["FunctionName"] == f"leasehold-{stage}-poller"
    )

    assert poller["Timeout"] > WaitingSettings().stay.total_seconds() + 30
    # A new account has a limit of 10 in all: a reserve is for those who ask for one.
    assert "ReservedConcurrentExecutions" not in poller


@everywhere
def test_lambda_does_not_stop_the_chain_of_pollers_and_handlers_and_watches_all_others(stage: str) -> None:
    """An end that frees a seat starts a poller, which starts the next job: by default that ends after 16 rounds."""
    made = [each["Properties"] for each in synthesised(stage).of_type("AWS::Lambda::Function").values()]
    allowed = {each["FunctionName"] for each in made if each.get("RecursiveLoop") == "Allow"}
    handlers = {each["FunctionName"] for each in made if each["FunctionName"].startswith(f"leasehold-{stage}-job-")}

    assert handlers
    assert allowed == {f"leasehold-{stage}-poller", *handlers}
