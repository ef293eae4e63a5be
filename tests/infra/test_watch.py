"""What watches: the alarms and whom they tell, a row of the dashboard for each type, and the registry."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app import job_folders
from infra.environments import ENVIRONMENTS, Environment
from leasehold.cdk import AlarmOptions
from leasehold.cdk.context import ALARM_KINDS
from leasehold.job_folders.folder import deployed_types
from leasehold.kernel import registry_records
from leasehold.kernel.registry import Registry
from tests.docs.markdown import text_of
from tests.infra.cloudformation import ACCOUNT, Resolver
from tests.infra.synthesised import synthesised, templates_of

everywhere = pytest.mark.parametrize("stage", ENVIRONMENTS, ids=lambda stage: stage.name)


def job_types(stage: Environment) -> list[str]:
    return [folder.name for folder in job_folders(stage)]


def alarms(stage: Environment) -> dict[str, dict[str, Any]]:
    made = synthesised(stage.name)
    found = [Resolver(made).resolve(each["Properties"]) for each in made.of_type("AWS::CloudWatch::Alarm").values()]
    return {each["AlarmName"].removeprefix(f"leasehold-{stage.name}-"): each for each in found}


@everywhere
def test_there_is_an_alarm_for_all_that_an_operator_must_know(stage: Environment) -> None:
    per_type = {f"{what}-{name}" for what in ("Errors", "Throttles") for name in job_types(stage)}
    of_jobs = {f"{what}-{name}" for what in ("Late", "LeasesLost") for name in job_types(stage)}
    guarded = {f"CircuitOpen-{folder.name}" for folder in job_folders(stage) if folder.job_type.breaker}
    if not stage.props.get("metrics_per_type"):
        of_jobs, guarded = {"Late", "LeasesLost"}, {"CircuitOpen"}
    of_all = {"HeartbeatMissing", "DeadLetters", "UndeliveredReports", "TableThrottles", "DueThrottles"}
    of_functions = {f"{name}{what}" for name in ("Poller", "Reporter") for what in ("Errors", "Throttles")}

    assert alarms(stage).keys() == of_all | of_functions | per_type | of_jobs | guarded


@pytest.mark.parametrize("kinds", [("HeartbeatMissing", "Late", "Errors"), ()])
def test_an_app_chooses_which_kinds_of_alarms_there_are(kinds: tuple[str, ...]) -> None:
    made = templates_of(Environment(name="chosen", props={"alarms": AlarmOptions(kinds=kinds)}))[1]

    names = {each["Properties"]["AlarmName"] for each in made.find_resources("AWS::CloudWatch::Alarm").values()}
    assert {name.removeprefix("leasehold-chosen-").partition("-")[0] for name in names} == set(kinds)
    assert len(names) == len(kinds)


def test_a_kind_of_alarm_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"alarms, kinds: there is no Later\. Use some of HeartbeatMissing, Dead"):
        templates_of(Environment(name="chosen", props={"alarms": AlarmOptions(kinds=("Later", "Late"))}))


def test_the_kinds_that_can_be_chosen_are_those_that_there_are_and_each_is_on_the_page() -> None:
    found = {name.partition("-")[0] for stage in ENVIRONMENTS for name in alarms(stage)}
    on_the_page = {
        name.partition("-")[0]
        for row in re.findall(r"^\| ([^|]+) \|", text_of("docs/operations.md"), re.MULTILINE)
        for name in row.split(", ")
    }

    assert found == set(ALARM_KINDS)
    assert found <= on_the_page


@everywhere
def test_one_dead_letter_is_enough_for_an_alarm(stage: Environment) -> None:
    alarm = alarms(stage)["DeadLetters"]

    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["EvaluationPeriods"], alarm["Period"], alarm["Statistic"]) == (1, 60, "Maximum")


@everywhere
def test_silence_of_the_poller_is_an_alarm_and_silence_of_the_rest_is_not(stage: Environment) -> None:
    missing = {name: each["TreatMissingData"] for name, each in alarms(stage).items()}

    assert missing.pop("HeartbeatMissing") == "breaching"
    assert set(missing.values()) == {"notBreaching"}


@everywhere
def test_every_alarm_says_what_is_wrong_and_tells_the_topic_of_it_and_of_its_end(stage: Environment) -> None:
    for name, alarm in alarms(stage).items():
        (topic,) = alarm["AlarmActions"]
        assert topic.endswith(f":leasehold-{stage.name}-alerts")
        assert alarm["OKActions"] == [topic]
        assert len(alarm["AlarmDescription"]) > 15, name


@everywhere
def test_alarms_may_publish_to_the_topic(stage: Environment) -> None:
    """A topic with a policy of its own has lost the default one: without this, no alarm would reach anybody."""
    made = synthesised(stage.name)
    (policy,) = made.of_type("AWS::SNS::TopicPolicy").values()
    statements = Resolver(made).resolve(policy["Properties"]["PolicyDocument"]["Statement"])

    (publish,) = [each for each in statements if each["Effect"] == "Allow"]
    assert publish["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert publish["Action"] == "sns:Publish"
    assert publish["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}


def test_a_queue_that_asks_for_nothing_has_no_dashboard() -> None:
    assert synthesised("local").of_type("AWS::CloudWatch::Dashboard") == {}


@pytest.mark.parametrize(
    "stage", [each for each in ENVIRONMENTS if each.props.get("dashboard")], ids=lambda stage: stage.name
)
def test_the_dashboard_has_a_row_for_every_job_type(stage: Environment) -> None:
    made = synthesised(stage.name)
    (dashboard,) = made.of_type("AWS::CloudWatch::Dashboard").values()
    body = json.loads(Resolver(made).resolve(dashboard["Properties"]["DashboardBody"]))
    titles = {widget["properties"]["title"] for widget in body["widgets"]}

    for name in job_types(stage):
        assert {f"{name}: outcomes", f"{name}: function"} <= titles
    assert {"Waiting (due and unclaimed)", "Oldest due, seconds", "Dead letters", "DynamoDB cost estimate"} <= titles


@everywhere
def test_a_deployment_publishes_the_registry_once_its_functions_are_there(stage: Environment) -> None:
    made = synthesised(stage.name)
    ((_, resource),) = made.of_type("Custom::LeaseholdRegistry").items()
    published = registry_records.registry_of(json.loads(Resolver(made).resolve(resource["Properties"]["Registry"])))
    functions = made.of_type("AWS::Lambda::Function")
    (roots,) = (name for name in made.of_type("AWS::S3::Bucket") if "AuditRoots" in name)

    names = {name: f"leasehold-{stage.name}-job-{name}" for name in job_types(stage)}
    assert published == Registry(
        types=deployed_types(job_folders(stage), names, webhook_sender=f"leasehold-{stage.name}-webhook-sender"),
        audit_roots=Resolver(made).resolve({"Ref": roots}),
    )
    publisher = resource["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
    assert set(resource["DependsOn"]) >= functions.keys() - {publisher, reporter_of(functions)}
    # A second try could come after the rollback and undo it: one that dies is given up soon instead.
    assert int(resource["Properties"]["ServiceTimeout"]) <= 300


def reporter_of(functions: dict[str, Any]) -> str:
    (name,) = (
        name for name, each in functions.items() if each["Properties"]["FunctionName"].endswith("dead-letter-reporter")
    )
    return name


def test_the_undelivered_are_kept_for_two_weeks_and_encrypted() -> None:
    for stage in ENVIRONMENTS:
        queues = [each["Properties"] for each in synthesised(stage.name).of_type("AWS::SQS::Queue").values()]
        assert len(queues) == 2
        for queue in queues:
            assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600
            assert ("KmsMasterKeyId" in queue) is stage.customer_key
            assert queue.get("SqsManagedSseEnabled", False) is not stage.customer_key


@everywhere
def test_a_type_with_a_circuit_breaker_has_an_alarm_that_lasts_as_long_as_its_circuit_is_open(
    stage: Environment,
) -> None:
    alarm = alarms(stage)["CircuitOpen-user_sync" if stage.props.get("metrics_per_type") else "CircuitOpen"]

    assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == ("circuit_open", "Maximum", 60)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm.get("Dimensions", []) == (
        [{"Name": "job_type", "Value": "user_sync"}] if stage.props.get("metrics_per_type") else []
    )
