"""`leasehold verify` on the deployed stacks: whole, and with one right, one metric, one statement changed.

The whole of it sends jobs through the queue, needs the probe's own type deployed for that, and takes minutes; the
metrics wait for a tick. So these two are deep.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from leasehold.cli import exits
from leasehold.local.aws.connection import queue_address
from leasehold.verify.report import PHASES, Outcome
from leasehold.verify.run import verify
from leasehold.verify.site import Site
from tests.local_stack import LOCAL_AWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


@pytest.fixture
def with_probe(local_stack: LocalStack) -> Iterator[LocalStack]:
    stages = local_stack.project.root / "infra" / "environments.py"
    before = stages.read_text()
    stages.write_text(before.replace('"api": ApiOptions(', '"probe": True, "api": ApiOptions('))
    assert stages.read_text() != before
    try:
        local_stack.deploy()
        yield local_stack
    finally:
        stages.write_text(before)
        local_stack.deploy()


def site_of(local_stack: LocalStack, client: Callable[[str], Any] | None = None) -> Site:
    address = queue_address(local_stack.running)
    tables = (address.jobs_table, address.dead_letters_table)
    shared = cache(client or local_stack.client)
    return Site(local_stack.queue, shared, name=address.queue_name, tables=tables, is_local=True)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_it_asks_first_runs_whole_and_leaves_a_redacted_report(with_probe: LocalStack) -> None:
    root = with_probe.project.root
    refused = with_probe.project.leasehold("verify", "--local", "--root", root)
    assert refused.returncode == exits.USAGE
    assert "costs less than $0.05" in refused.stderr

    file = root / "real-aws" / "report.json"
    answer = with_probe.project.leasehold("verify", "--local", "--root", root, "--yes", "--output", file, timeout=600)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    written = file.read_text()
    report = json.loads(written)
    assert {each["phase"] for each in report["checks"]} == set(PHASES)
    assert (report["wrong"], report["proven"], report["engine"]) == (0, False, "the local AWS")
    assert "Not proven on AWS: this ran on the local AWS." in answer.stdout
    stand_ins = " ".join(each["detail"] for each in report["checks"] if each["outcome"] == Outcome.STAND_IN)
    assert "stand-in for Access Analyzer" in stand_ins
    hops = {each["name"]: each["detail"] for each in report["checks"] if each["phase"] == "flow"}
    assert "enqueued to started" in hops["a job now"]
    assert "all ended within" in hops["30 jobs in bulk"]
    assert "in attempt 2" in hops["a job whose worker crashed runs again"]
    assert "after 2 attempts" in hops["a dead letter"]
    assert any("TTL removes them" in each for each in report["leftovers"])
    # Nothing of the account, of the deployment's name or of a job is in what may be shown.
    assert not any(
        word in written
        for word in ("000000000000", queue_address(with_probe.running).jobs_table, with_probe.running.access_key)
    )


def test_a_right_that_is_missing_is_named(local_stack: LocalStack) -> None:
    iam, site = local_stack.client("iam"), site_of(local_stack)
    role = site.poller.role
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    poorer = {**document, "Statement": [each for each in document["Statement"] if each["Sid"] != "KeepWatch"]}
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(poorer))
    try:
        report = verify(site, phases=("preflight",))
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))

    (wrong,) = report.wrong
    assert wrong.name == f"rights of {site.poller.name}"
    assert f"dynamodb:DeleteItem on table/{site.jobs_table} watch" in wrong.detail


@pytest.mark.deep
def test_a_metric_that_nothing_writes_is_named_with_its_alarm(local_stack: LocalStack) -> None:
    cloudwatch = local_stack.client("cloudwatch")
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    (alarm,) = [each for each in alarms if each["MetricName"] == "heartbeat"]
    kept = ("Namespace", "Statistic", "Period", "EvaluationPeriods", "Threshold", "ComparisonOperator")
    same = {name: alarm[name] for name in kept}
    cloudwatch.put_metric_alarm(AlarmName=alarm["AlarmName"], MetricName="heart_beat", **same)
    try:
        report = verify(site_of(local_stack), phases=("watch",))
    finally:
        cloudwatch.put_metric_alarm(AlarmName=alarm["AlarmName"], MetricName="heartbeat", **same)

    (wrong,) = report.wrong
    assert wrong.name == f"metric of {alarm['AlarmName']}"
    assert "no function writes heart_beat" in wrong.detail


def test_a_statement_that_is_not_taken_is_named(local_stack: LocalStack) -> None:
    """As if AWS refused the form of the batch claim: the statement is spoilt on its way."""
    options: dict[str, Any] = local_stack.running.client_options
    dynamodb = boto3.client("dynamodb", **options)

    def spoil(params: dict[str, Any], **_: Any) -> None:
        for each in params["Statements"]:
            each["Statement"] = each["Statement"].replace("UPDATE ", "UPDAT ")

    dynamodb.meta.events.register("before-parameter-build.dynamodb.BatchExecuteStatement", spoil)

    def client(service: str) -> Any:
        return dynamodb if service == "dynamodb" else local_stack.client(service)

    report = verify(site_of(local_stack, client), phases=("probe",))

    assert [each.name for each in report.wrong] == [
        "claims of a page by one request",
        "a claim of a page that comes too late is refused",
    ]
    assert "instead of ['made', 'made']" in report.wrong[0].detail
