"""Every setting of JobQueue with another value than its default, and what a deployment that changes it does.

docs/aws.md shows the table; test_changes.py holds it against templates, test_quotas.py varies the settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_ssm as ssm

from leasehold.cdk import AlarmOptions, ApiOptions, AuditRootOptions, JobQueue, WebhookOptions
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TABLES, BUCKET, TOPIC, NAMES = "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SSM::Parameter"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """value: another one than the default, made in the queue's stack.
    change: what a deployment that changes it does, for people.
    leaves: types of resources with something in them that leave the stack or are replaced, which `change` explains.
    """

    value: Callable[[Stack], Any]
    change: str
    leaves: frozenset[str] = frozenset()


def _just(value: Any) -> Callable[[Stack], Any]:
    return lambda _stack: value


def _parameter(stack: Stack, name: str) -> ssm.IStringParameter:
    return ssm.StringParameter.from_secure_string_parameter_attributes(stack, name, parameter_name=f"/{name}")


_IN_PLACE = "in place"
_FUNCTIONS = "functions, in place"
SETTINGS: Mapping[str, Setting] = {
    "removal_policy": Setting(value=_just(RemovalPolicy.DESTROY), change="what a deletion of the stack does, in place"),
    "encryption_key": Setting(
        value=lambda stack: kms.Key(stack, "Key"),
        change="tables, queues, topic and logs are under the other key from then on, in place",
    ),
    "point_in_time_recovery": Setting(value=_just(False), change=_IN_PLACE),
    "deletion_protection": Setting(value=_just(False), change=_IN_PLACE),
    "ended_index": Setting(
        value=_just(False), change="the index is made or removed, in place; one a deployment, by DynamoDB"
    ),
    "shards": Setting(value=_just(4), change="the registry, in place; raise it, never lower it"),
    "isolate_types": Setting(value=_just(False), change="the registry and roles, in place; for an empty table only"),
    "concurrency": Setting(value=_just(50), change="the registry and roles, in place"),
    "resources": Setting(value=_just({"gpu": 2}), change="the registry, in place"),
    "require_reasons": Setting(value=_just(True), change="the registry, in place"),
    "wake_by_stream": Setting(
        value=_just(False),
        change="the stream's reader comes or goes, with its queue of undelivered wakes",
        leaves=frozenset({"AWS::SQS::Queue"}),
    ),
    "poll_limit": Setting(value=_just(10), change=_FUNCTIONS),
    "poll_interval": Setting(value=_just(timedelta(seconds=10)), change=_FUNCTIONS),
    "poller_concurrency": Setting(value=_just(5), change=_FUNCTIONS),
    "runtime": Setting(value=_just(lambda_.Runtime.PYTHON_3_12), change="functions in place, with new layers"),
    "architecture": Setting(value=_just(lambda_.Architecture.X86_64), change="functions in place, with a new layer"),
    "environment": Setting(value=_just({"LEVEL": "careful"}), change=_FUNCTIONS),
    "vpc": Setting(value=lambda stack: ec2.Vpc(stack, "Vpc", max_azs=2), change="functions move into it, in place"),
    "permissions_boundary": Setting(
        value=lambda stack: iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "boundary"),
        change="roles, in place",
    ),
    "log_retention": Setting(value=_just(logs.RetentionDays.ONE_WEEK), change="log groups, in place"),
    "log_level": Setting(value=_just("DEBUG"), change=_FUNCTIONS),
    "metrics_per_type": Setting(value=_just(True), change="alarms of single types come, those of the queue go"),
    "alarms": Setting(
        value=lambda stack: AlarmOptions(topic=sns.Topic(stack, "Theirs")),
        change="the queue's own topic goes with its subscriptions where another, or none, is named",
        leaves=frozenset({TOPIC, "AWS::SNS::TopicPolicy"}),
    ),
    "sentry_dsn": Setting(value=lambda stack: _parameter(stack, "dsn"), change="functions and roles, in place"),
    "webhooks": Setting(
        value=lambda stack: WebhookOptions(keys=_parameter(stack, "keys")), change="the sender comes or goes"
    ),
    "api": Setting(value=_just(ApiOptions()), change="the API comes or goes; one that comes back has another address"),
    "audit_roots": Setting(
        value=_just(None),
        change="without, the bucket leaves the stack and stays in the account; one that comes back is another bucket",
        leaves=frozenset({BUCKET, "AWS::S3::BucketPolicy", "AWS::Logs::LogGroup"}),
    ),
    "lifecycle_events": Setting(value=_just(True), change="the bus comes or goes, with rules of others on it"),
    "queue_name": Setting(
        value=_just("other"),
        change="the parameter that SDK and command line find it by is another; tables stay",
        leaves=frozenset({NAMES}),
    ),
    "environment_name": Setting(value=_just("staging"), change=_FUNCTIONS),
    "nested_stacks": Setting(
        value=_just(True),
        change="functions of job types are made anew in nested stacks; their logs stay or go by "
        "removal_policy; jobs that they run are tried again",
        leaves=frozenset({"AWS::Logs::LogGroup"}),
    ),
}
LOCKED_ROOTS = AuditRootOptions(lock="governance")


def folder_of_types(count: int) -> Path:
    """So many job types, with long names, schedules and circuit breakers."""
    jobs = Path(mkdtemp(prefix="leasehold-types-")) / "jobs"
    for number in range(count):
        folder = jobs / f"reconcile_external_ledger_of_region_{number:03d}"
        folder.mkdir(parents=True)
        (folder / "handler.py").write_text("")
        (folder / "job.toml").write_text('concurrency = 2\n[schedule]\nrate = "1 hour"\n[circuit_breaker]\n')
    return jobs


def queue_with(
    settings: Mapping[str, Any], *, types: int = 1, outdir: Path | None = None, **more: Any
) -> tuple[App, JobQueue]:
    """A queue in a stack of its own; values of SETTINGS that are named and True are switched to their other value."""
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING}, outdir=str(outdir) if outdir else None)
    stack = Stack(app, "Shop")
    given = {name: SETTINGS[name].value(stack) for name, is_other in settings.items() if is_other}
    return app, JobQueue(stack, "Jobs", entry=folder_of_types(types), **given, **more)
