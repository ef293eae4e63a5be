"""What all constructs of one queue share: its settings, its tables, its layers and what is stored outside of it."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aws_cdk import Aws, RemovalPolicy, Stage
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from leasehold.aws import names as variables
from leasehold.aws.api_access import Access
from leasehold.job_folders.job_toml import ENVIRONMENT_NAME
from leasehold.kernel.type_options import MAX_SEATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_secretsmanager as secretsmanager
    from aws_cdk import aws_sns as sns
    from aws_cdk import aws_ssm as ssm
    from constructs import Construct

    type TextStore = secretsmanager.ISecret | ssm.IStringParameter

MAX_POLL_LIMIT = 1000
MAX_SHARDS = 256  # a job's id has eight bits for its shard
MAX_QUEUE_NAME = 48
_QUEUE_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_QUEUE_NAME - 1}}}")
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
RUNTIMES = ("python3.12", "python3.13")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """keys: where the keys are kept that webhooks are signed with: one key, several while one is replaced, or a JSON
        object with those of each host.
    ports: that receivers may listen on.
    concurrency: reserved for the webhook sender, which never runs more at once; None for no reserve.
    concurrency_per_host: how many deliveries go to one host at once, so that a slow one keeps no other from being
        notified; None for no limit. It costs 7 write units a delivery.
    """

    keys: TextStore
    ports: tuple[int, ...] = (443,)
    concurrency: int | None = None
    concurrency_per_host: int | None = None

    def problems(self) -> Iterator[str]:
        if not self.ports or not all(0 < port < 65_536 for port in self.ports):
            yield f"webhooks, ports = {self.ports}: ports are 1 to 65535. Use (443,)."
        if self.concurrency is not None and self.concurrency < 1:
            yield f"webhooks, concurrency = {self.concurrency}: nothing would be sent. Use 1 or more, or None."
        per_host = self.concurrency_per_host
        if per_host is not None and not 1 <= per_host <= MAX_SEATS:
            yield f"webhooks, concurrency_per_host = {per_host}: a limit has 1 to {MAX_SEATS} seats. Use one, or None."


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """access: who has which role. By default requests are signed, and nobody has one.

    rate_limit: requests a second that the gateway lets through, all callers together.
    burst_limit: how many at once beyond that.
    """

    access: Access = field(default_factory=Access)
    rate_limit: int = 25
    burst_limit: int = 50

    def problems(self) -> Iterator[str]:
        if self.rate_limit < 1 or self.burst_limit < 1:
            yield f"api, rate_limit = {self.rate_limit}, burst_limit = {self.burst_limit}: nothing would get through."
        if len(self.access.to_text().encode()) > 2048:
            yield "api, access: the patterns of roles are more than a function's environment holds. Use wildcards."


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRootOptions:
    """lock: how the bucket with the daily roots of the audit is locked: None; "governance", which administrators with
        s3:BypassGovernanceRetention can lift; "compliance", which NOBODY can lift or shorten for `lock_days`: not you,
        not AWS, not by deleting the stack. Read docs/operations.md before you set it.
    lock_days: how long a root is locked from when it is written.
    """

    lock: str | None = None
    lock_days: int = 365

    def problems(self) -> Iterator[str]:
        if self.lock not in (None, "governance", "compliance"):
            yield f"audit_roots, lock = {self.lock!r}: Use None, 'governance' or 'compliance'."
        if self.lock_days < 1:
            yield f"audit_roots, lock_days = {self.lock_days}: a lock holds for a day or more. Use 365."


# As they are named in docs/operations.md; Errors and Throttles are those of job types' functions.
ALARM_KINDS = (
    *("HeartbeatMissing", "DeadLetters", "Late", "CircuitOpen", "LeasesLost", "Errors", "Throttles"),
    *("PollerErrors", "PollerThrottles", "ReporterErrors", "ReporterThrottles", "UndeliveredReports"),
    *("TableThrottles", "DueThrottles"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmOptions:
    """topic: that alarms notify; by default one of the queue's own, `JobQueue.alarm_topic`.
    email: that the queue's own topic notifies; None for nobody yet.
    job_types: those that have alarms of their own; None for all of them.
    kinds: which alarms there are, e.g. ("HeartbeatMissing", "DeadLetters", "Late"); None for all of ALARM_KINDS.
    """

    topic: sns.ITopic | None = None
    email: str | None = None
    job_types: Sequence[str] | None = None
    kinds: Sequence[str] | None = None

    def problems(self) -> Iterator[str]:
        unknown = sorted({*(self.kinds or ())} - {*ALARM_KINDS})
        if unknown:
            yield f"alarms, kinds: there is no {', '.join(unknown)}. Use some of {', '.join(ALARM_KINDS)}."
        if self.topic is not None and self.email is not None:
            yield "alarms, topic and email: the topic is yours. Subscribe to it there, or leave one of them out."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueContext:
    """What `JobQueue` documents as its props, and what it made of them. `scope` is the queue itself."""

    queue_name: str
    environment_name: str
    jobs: dynamodb.ITable
    dead_letters: dynamodb.ITable
    key: kms.IKey | None
    architecture: lambda_.Architecture
    scope: Construct | None = None
    runtime: lambda_.Runtime = field(default_factory=lambda: lambda_.Runtime.PYTHON_3_13)
    system_layers: tuple[lambda_.ILayerVersion, ...] = ()
    layers: tuple[lambda_.ILayerVersion, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    vpc: ec2.IVpc | None = None
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] | None = None
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"
    shards: int = 1
    isolate_types: bool = True
    ended_index: bool = True
    concurrency: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    concurrency_policy: str | None = None
    policy_folder: Path = Path("policies")
    metrics_per_type: bool = False
    dashboard: bool = False
    poll_limit: int = 25
    wake_by_stream: bool = True
    poll_interval: timedelta | None = None
    poller_concurrency: int | None = None
    sentry_dsn: TextStore | None = None
    webhooks: WebhookOptions | None = None
    api: ApiOptions | None = None
    audit_roots: AuditRootOptions | None = None
    require_reasons: bool = False
    alarms: AlarmOptions | None = None

    def check(self) -> None:
        problems = [*self._problems(), *self._problems_of_polling()]
        for options in (self.webhooks, self.api, self.audit_roots, self.alarms):
            problems += options.problems() if options else ()
        if problems:
            raise ValueError(f"JobQueue {self.queue_name!r}: " + " ".join(problems))

    def _problems(self) -> Iterator[str]:
        if not _QUEUE_NAME.fullmatch(self.queue_name):
            yield (
                f"queue_name = {self.queue_name!r}: it names the deployment for SDK and command line. "
                f"Use 1 to {MAX_QUEUE_NAME} letters, digits, - and _, a letter first."
            )
        if not ENVIRONMENT_NAME.fullmatch(self.environment_name):
            yield f"environment_name = {self.environment_name!r}: Use 1 to 32 of a-z, 0-9, - and _, e.g. prod."
        if not 1 <= self.shards <= MAX_SHARDS:
            yield f"shards = {self.shards}: a job's id holds 1 to {MAX_SHARDS}. Use one of these."
        if self.concurrency is not None and not 1 <= self.concurrency <= MAX_SEATS:
            yield f"concurrency = {self.concurrency}: a limit has 1 to {MAX_SEATS} seats. Use one of these, or None."
        for name, seats in self.resources.items():
            if not 1 <= seats <= MAX_SEATS:
                yield f"resources, {name} = {seats}: a limit has 1 to {MAX_SEATS} seats. Use one of these."
        if self.dashboard and not self.metrics_per_type:
            yield "dashboard: its rows show each type by itself. Set metrics_per_type too."
        if self.log_level not in _LOG_LEVELS:
            yield f"log_level = {self.log_level!r}: Use one of {', '.join(_LOG_LEVELS)}."
        if self.runtime.name not in RUNTIMES:
            yield f"runtime = {self.runtime.name}: Leasehold is tested with {' and '.join(RUNTIMES)}. Use one of these."
        if self.vpc is None and (self.vpc_subnets is not None or self.security_groups):
            yield "vpc_subnets, security_groups: they are of a VPC, and none is given. Set vpc too."

    def _problems_of_polling(self) -> Iterator[str]:
        if not 1 <= self.poll_limit <= MAX_POLL_LIMIT:
            yield f"poll_limit = {self.poll_limit}: a poll reads 1 to {MAX_POLL_LIMIT} entries at once. Use 25."
        if self.poll_interval is not None and not timedelta(seconds=1) <= self.poll_interval < timedelta(minutes=1):
            yield f"poll_interval = {self.poll_interval}: the tick polls each minute. Use 1 to 59 seconds, or None."
        if self.poller_concurrency is not None and self.poller_concurrency < 4:
            yield f"poller_concurrency = {self.poller_concurrency}: ticks, a resident and wakes run at once. Use 4."

    @property
    def metrics_namespace(self) -> str:
        return f"Leasehold/{self.queue_name}"

    @property
    def webhook_concurrency_per_host(self) -> int | None:
        return self.webhooks.concurrency_per_host if self.webhooks else None

    @property
    def sends_webhooks(self) -> bool:
        return self.webhooks is not None

    @property
    def system_environment(self) -> dict[str, str]:
        """What every function of the queue is told."""
        return {
            variables.QUEUE_NAME: self.queue_name,
            variables.ENVIRONMENT_NAME: self.environment_name,
            variables.JOBS_TABLE: self.jobs.table_name,
            variables.DEAD_LETTERS_TABLE: self.dead_letters.table_name,
            variables.METRICS_NAMESPACE: self.metrics_namespace,
            variables.METRICS_PER_TYPE: "true" if self.metrics_per_type else "false",
            "POWERTOOLS_LOG_LEVEL": self.log_level,
            # Looking for plugins reads the metadata of every package, at each cold start.
            "PYDANTIC_DISABLE_PLUGINS": "1",
        }

    @property
    def sentry_environment(self) -> dict[str, str]:
        """Where the DSN is: for those who report to Sentry."""
        return place_of(self.sentry_dsn, variables.SENTRY_DSN_SECRET, variables.SENTRY_DSN_PARAMETER)

    @property
    def sentry_statements(self) -> list[iam.PolicyStatement]:
        return reading_statements("ReadDsn", self.sentry_dsn)

    @property
    def key_statements(self) -> list[iam.PolicyStatement]:
        return key_statements(self.key) if self.key else []


def key_statements(key: kms.IKey) -> list[iam.PolicyStatement]:
    """What working with records under a customer key needs: the tables and queues use it, nobody by himself."""
    services = [f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}" for service in ("dynamodb", "sqs")]
    return [
        iam.PolicyStatement(
            sid="UseKey",
            actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
            resources=[key.key_arn],
            conditions={"StringEquals": {"kms:ViaService": services}},
        )
    ]


def place_of(store: TextStore | None, secret: str, parameter: str) -> dict[str, str]:
    """The variable that says where a text is kept: `secret` or `parameter`."""
    if store is None:
        return {}
    kept = _as_secret(store)
    return {secret: kept.secret_name} if kept else {parameter: cast("ssm.IStringParameter", store).parameter_name}


def reading_statements(sid: str, store: TextStore | None) -> list[iam.PolicyStatement]:
    """The right to read one text that is kept outside of the queue."""
    if store is None:
        return []
    kept = _as_secret(store)
    if kept is None:
        resources = [cast("ssm.IStringParameter", store).parameter_arn]
        return [iam.PolicyStatement(sid=f"{sid}Parameter", actions=["ssm:GetParameter"], resources=resources)]
    # Secrets Manager appends six characters of its own to every secret's name.
    arn = kept.secret_full_arn or f"{kept.secret_arn}-??????"
    statements = [iam.PolicyStatement(sid=sid, actions=["secretsmanager:GetSecretValue"], resources=[arn])]
    if kept.encryption_key is not None:
        resources = [kept.encryption_key.key_arn]
        statements.append(iam.PolicyStatement(sid=f"{sid}Decrypt", actions=["kms:Decrypt"], resources=resources))
    return statements


def _as_secret(store: TextStore) -> secretsmanager.ISecret | None:
    """Interfaces of the CDK cannot be asked for: what has a secret's ARN is one."""
    return cast("secretsmanager.ISecret", store) if hasattr(store, "secret_arn") else None


def name_from_path(path: str) -> str:
    """
    >>> name_from_path("MyStack/Jobs")
    'MyStack-Jobs'
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.replace("/", "-")).strip("-")
    name = name if name[:1].isalpha() else f"q-{name}"
    if len(name) <= MAX_QUEUE_NAME:
        return name
    return f"{name[: MAX_QUEUE_NAME - 9]}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def environment_name_of(scope: Construct) -> str:
    stage = Stage.of(scope)
    name = stage.stage_name if stage is not None else None
    return name.rpartition("/")[2].rpartition("-")[2].lower() if name else "prod"


def ending_in_its_reason[E: Exception](error: E) -> E:
    """An error in somebody's job folder: a program that it ends says why, without the way through this library."""
    before = sys.excepthook

    def end(kind: type[BaseException], raised: BaseException, traceback: TracebackType | None) -> None:
        if raised is error:
            print(error, file=sys.stderr)
        else:
            before(kind, raised, traceback)

    sys.excepthook = end
    return error
