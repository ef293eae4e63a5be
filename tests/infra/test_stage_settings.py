"""Each setting of a stage changes what it says, and a setting that cannot work fails before anything is deployed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from aws_cdk.assertions import Template

from infra.environments import Environment, environment_named
from leasehold.cdk import AlarmOptions, AuditRootOptions, JobQueue, WebhookOptions
from leasehold.cdk.layers import check_policy
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, templates_of

if TYPE_CHECKING:
    from pathlib import Path

KEYS: Any = "not looked at"
MAPPING = "AWS::Lambda::EventSourceMapping"


def poller_of(queue: Template) -> dict[str, Any]:
    (found,) = queue.find_resources("AWS::Lambda::Function", {"Properties": {"Timeout": 120}}).values()
    return dict(found["Properties"])


@pytest.fixture(scope="module")
def quiet() -> tuple[Template, Template]:
    return templates_of(Environment(name="quiet", props={"wake_by_stream": False}))


def test_nothing_follows_the_job_table_and_nobody_may(quiet: tuple[Template, Template]) -> None:
    data, queue = quiet
    jobs_stream = next(name for name in data.to_json()["Outputs"] if "Jobs" in name and "StreamArn" in name)

    queue.resource_count_is(MAPPING, 1)  # that of the dead letters
    assert jobs_stream not in json.dumps(queue.to_json())


def test_the_tick_is_still_there(quiet: tuple[Template, Template]) -> None:
    quiet[1].has_resource_properties("AWS::Scheduler::Schedule", {"ScheduleExpression": "rate(1 minute)"})


def test_the_switch_can_be_deployed_in_either_direction(quiet: tuple[Template, Template]) -> None:
    """An export that went while the other stack still reads it would block the deployment."""
    loud, _ = templates_of(Environment(name="quiet", props={"wake_by_stream": True}))

    assert exports(quiet[0]) == exports(loud)


def exports(template: Template) -> set[str]:
    return {each["Export"]["Name"] for each in template.to_json()["Outputs"].values() if "Export" in each}


@pytest.fixture(scope="module")
def rare() -> Template:
    """Settings that do not meet each other, in one stage: every synth takes a second."""
    return templates_of(
        Environment(
            name="rare",
            sentry_dsn="/leasehold/rare/sentry-dsn",
            props={
                "poll_interval": timedelta(seconds=10),
                "alarms": AlarmOptions(email="ops@example.com"),
                "ended_index": False,
                "lifecycle_events": True,
                "concurrency": 50,
                "resources": {"gpu": 2},
                "shards": 4,
                "poll_limit": 10,
                "log_level": "WARNING",
                "metrics_per_type": True,
                "dashboard": True,
            },
        )
    )[1]


def test_a_bus_of_its_own_is_told_what_happens_to_jobs_and_nothing_else(rare: Template) -> None:
    rare.resource_count_is("AWS::Events::EventBus", 1)
    (mapping,) = [
        each["Properties"]
        for each in rare.find_resources("AWS::Lambda::EventSourceMapping").values()
        if "lifecycle" in json.dumps(each["Properties"]["FunctionName"]).lower()
    ]
    pattern = json.loads(mapping["FilterCriteria"]["Filters"][0]["Pattern"])
    assert pattern["dynamodb"]["Keys"]["PK"]["S"] == ["job", {"prefix": "job#"}]
    assert "ReportBatchItemFailures" in mapping["FunctionResponseTypes"]


def test_without_the_setting_there_is_no_bus(quiet: tuple[Template, Template]) -> None:
    quiet[1].resource_count_is("AWS::Events::EventBus", 0)


def test_the_limits_of_a_stage_are_published(rare: Template) -> None:
    (registry,) = rare.find_resources("Custom::LeaseholdRegistry").values()
    published = json.dumps(registry["Properties"]["Registry"]).replace("\\", "")
    assert '"concurrency": 50' in published
    assert '"resources": {"gpu": 2}' in published


def test_the_poller_is_told_its_interval(rare: Template) -> None:
    assert poller_of(rare)["Environment"]["Variables"]["LEASEHOLD_POLL_INTERVAL_SECONDS"] == "10"


def test_the_poller_is_told_how_much_it_reads_at_once(rare: Template, quiet: tuple[Template, Template]) -> None:
    assert poller_of(rare)["Environment"]["Variables"]["LEASEHOLD_POLL_LIMIT"] == "10"
    assert poller_of(quiet[1])["Environment"]["Variables"]["LEASEHOLD_POLL_LIMIT"] == "25"


@pytest.fixture(scope="module")
def policed(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("policed")
    (root / "rules").mkdir()
    (root / "rules" / "tenants.py").write_text("def limits_of(job_type, concurrency_key, registry):\n    return ()\n")
    props = {"concurrency_policy": "tenants:limits_of", "policy_folder": root / "rules"}
    return templates_of(Environment(name="policed", props=props))[1]


def test_the_poller_alone_is_told_its_policy_and_has_its_code(policed: Template) -> None:
    functions = policed.find_resources("AWS::Lambda::Function").values()
    told = [each for each in functions if "LEASEHOLD_CONCURRENCY_POLICY" in json.dumps(each)]
    (layer,) = [name for name in policed.find_resources("AWS::Lambda::LayerVersion") if "Policy" in name]

    assert [each["Properties"] for each in told] == [poller_of(policed)]
    assert poller_of(policed)["Environment"]["Variables"]["LEASEHOLD_CONCURRENCY_POLICY"] == "tenants:limits_of"
    assert [each for each in functions if layer in json.dumps(each["Properties"].get("Layers"))] == told


def test_a_handler_frees_seats_of_a_policy_where_there_is_one(
    policed: Template, quiet: tuple[Template, Template]
) -> None:
    assert "seat#own:*" in json.dumps(policed.to_json())
    assert "seat#own:*" not in json.dumps(quiet[1].to_json())


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ("tenants", 'concurrency_policy = .tenants.: it is not of the form "module:function"'),
        ("tenant:limits_of", r"there is no .*tenant\.py\. Make it, or correct policy_folder\."),
        ("tenants:limit", r"tenants\.py has no function limit\. It has: limits_of\."),
    ],
)
def test_a_policy_that_leads_nowhere_is_not_deployed(policy: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "tenants.py").write_text("def limits_of(job_type, concurrency_key, registry):\n    return ()\n")
    with pytest.raises(ValueError, match=problem):
        check_policy(tmp_path, policy)


def test_a_poller_without_a_reserve_has_none(rare: Template) -> None:
    assert "ReservedConcurrentExecutions" not in poller_of(rare)


def test_every_role_has_the_boundary() -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "stack")
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "developers-boundary")
    JobQueue(stack, "Jobs", permissions_boundary=boundary)
    roles = Template.from_stack(stack).find_resources("AWS::IAM::Role")

    assert roles
    for role in roles.values():
        assert "policy/developers-boundary" in json.dumps(role["Properties"]["PermissionsBoundary"])


def test_the_one_parameter_of_the_dsn_may_be_read(rare: Template) -> None:
    statements = [
        statement
        for policy in rare.find_resources("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "ssm:GetParameter"
    ]

    assert len(statements) >= 3  # poller, reporter and the one handler
    assert all("parameter/leasehold/rare/sentry-dsn" in json.dumps(each["Resource"]) for each in statements)


def test_alarms_reach_somebody(rare: Template) -> None:
    rare.has_resource_properties("AWS::SNS::Subscription", {"Protocol": "email", "Endpoint": "ops@example.com"})


def test_the_registry_says_shards_and_indexes(rare: Template) -> None:
    (registry,) = rare.find_resources("Custom::LeaseholdRegistry").values()
    text = json.dumps(registry["Properties"]["Registry"])

    assert r"\"shards\": 4" in text.replace("\\\\", "\\")
    assert r"\"ended_index\": false" in text.replace("\\\\", "\\")


def test_the_cost_estimate_counts_the_indexes_that_there_are(rare: Template) -> None:
    (dashboard,) = rare.find_resources("AWS::CloudWatch::Dashboard").values()
    body = json.dumps(dashboard["Properties"]["DashboardBody"])

    assert "written + due_written)" in body
    assert "ended_written" not in body


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"queue_name": "1st"}, r"queue_name = '1st': it names the deployment .* a letter first\."),
        ({"queue_name": "q" * 49}, "queue_name = 'qqq"),
        ({"environment_name": "Prod"}, "environment_name = 'Prod': Use 1 to 32"),
        ({"shards": 0}, r"shards = 0: a job's id holds 1 to 256\."),
        ({"shards": 4097}, "shards = 4097"),
        ({"poll_limit": 0}, r"poll_limit = 0: a poll reads 1 to 1000 entries at once\."),
        ({"poll_interval": timedelta(minutes=1)}, r"poll_interval = 0:01:00: .* Use 1 to 59 seconds, or None\."),
        ({"poll_interval": timedelta(0)}, "poll_interval = 0:00:00"),
        ({"poller_concurrency": 1}, r"poller_concurrency = 1: .* Use 4\."),
        ({"log_level": "LOUD"}, r"log_level = 'LOUD': Use one of DEBUG, INFO, WARNING, ERROR\."),
        ({"runtime": lambda_.Runtime.PYTHON_3_9}, r"runtime = python3\.9: .* python3\.12 and python3\.13"),
        ({"security_groups": ["sg"]}, r"they are of a VPC, and none is given\. Set vpc too\."),
        ({"webhooks": WebhookOptions(keys=KEYS, ports=(443, 0))}, r"ports = \(443, 0\): ports are 1 to 65535\."),
        ({"webhooks": WebhookOptions(keys=KEYS, concurrency=0)}, r"concurrency = 0: nothing would be sent\."),
        ({"webhooks": WebhookOptions(keys=KEYS, concurrency_per_host=0)}, r"per_host = 0: a limit has 1 to"),
        ({"audit_roots": AuditRootOptions(lock="maybe")}, r"lock = 'maybe': Use None, 'governance' or"),
        ({"audit_roots": AuditRootOptions(lock_days=0)}, r"lock_days = 0: a lock holds for a day or more"),
    ],
    ids=lambda each: each if isinstance(each, str) else "+".join(each),
)
def test_a_setting_that_cannot_work_says_what_to_do(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        JobQueue(Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "stack"), "Jobs", **settings)


@pytest.mark.parametrize(("per_host", "may"), [(None, False), (5, True)])
def test_the_sender_frees_the_seats_of_hosts_where_these_are_counted(per_host: int | None, may: bool) -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "stack")
    keys = ssm.StringParameter.from_secure_string_parameter_attributes(stack, "Keys", parameter_name="/keys")
    JobQueue(stack, "Jobs", webhooks=WebhookOptions(keys=keys, concurrency_per_host=per_host))
    queue = json.dumps(Template.from_stack(stack).to_json())

    assert ("seat#key:webhook_delivery:*" in queue) is may


def test_a_stage_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"no environment 'staging'\. Use one of dev, prod, local, or add it"):
        environment_named("staging")
