"""The stages: everything that differs between two deployments, in one place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from infra.api_settings import ApiSettings
from leasehold.domain.limits import MAX_SEATS
from leasehold.kernel.poll import POLL_LIMIT
from leasehold.settings.api_access import Access
from leasehold.settings.job_toml import LOG_RETENTION_DAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_POLL_LIMIT = 1000
MAX_SHARDS = 256  # a job's id has eight bits for its shard
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Settings of one deployment.

    name: part of every resource's name: `leasehold-<name>-…`.
    keeps_data: tables cannot be deleted, and stay when their stack goes.
    audit_lock: how the bucket with the daily roots of the audit is locked: None; "governance", which administrators
        with s3:BypassGovernanceRetention can lift; "compliance", which NOBODY can lift or shorten for
        `audit_lock_days`: not you, not AWS, not by deleting the stack. Read docs/operations.md before you set it.
    audit_lock_days: how long a root is locked from when it is written.
    architecture: of the functions and their dependency layer.
    shards: partitions of the due index; one carries about 250 jobs a second. Raise it on a live table, never lower it.
    isolate_types: a job's partition names its type, so that each function's role reaches its own type's jobs only. Off,
        all jobs are in the partition `job`, and every handler's role reaches all of them. Choose it once per table.
    concurrency: how many jobs may run at once, of all types together; None for no limit. It costs 7 write units a job.
    resources: how many jobs may use each shared resource at once; a type names those it needs in its job.toml.
    ended_index: list ended jobs by type and status, for one more write unit per job.
    wake_by_stream: start due jobs within a second; off, everything runs at the tick or at `poll_interval`.
    lifecycle_events: tell an EventBridge bus, leasehold-<name>-events, what happens to jobs. Switching it makes the
        table's stream anew: do it while nothing is due, the tick finds what wakes miss meanwhile.
    poll_limit: how many due entries a poll reads at once, 1 to 1000. Fewer let a stop be noticed sooner, and higher
        priorities overtake sooner; more need fewer reads.
    concurrency_policy: `module:function` in `policy_folder`, asked which limits a job counts against; None for the
        limits of these settings and of each job.toml. See docs/limits.md.
    policy_folder: where the policy's code lies, below the project; it is deployed whole, with the poller.
    poll_interval: below a minute, the tick stays and polls at this interval; None for once a minute.
    poller_concurrency: reserved for the poller: two ticks, a resident, and the wakes of the stream's shards; None for
        no reserve, e.g. in a new account whose whole limit is 10.
    customer_key: encrypt tables, topic, queues and logs with a key of this account instead of AWS's own.
    permissions_boundary: name of a managed policy that bounds every role, where an organisation asks for one.
    sentry_dsn_secret, sentry_dsn_parameter: where the DSN is kept, in Secrets Manager or SSM; none for no Sentry.
    webhook_keys_secret, webhook_keys_parameter: where the keys are kept that webhooks are signed with; none for no
        webhooks. One key, several while one is replaced, or a JSON object with those of each host.
    webhook_ports: that receivers may listen on.
    webhook_concurrency: reserved for the webhook sender, which never runs more at once; None for no reserve.
    webhook_concurrency_per_host: how many deliveries go to one host at once, so that a slow one keeps no other from
        being told; None for no limit. It costs 7 write units a delivery.
    api: the HTTP API, with who has which role in it; None for none.
    log_retention_days: one of the numbers that CloudWatch Logs accepts.
    log_level: INFO logs one line for each run's end; DEBUG also each enqueue, claim, start and idle poll. Metrics are
        sent at every level.
    metrics_per_type: metrics and alarms of lateness, leases and circuits once for each job type, which cost about $3 a
        month for each; else once for the queue. The logs can be searched by type either way.
    dashboard: a CloudWatch dashboard, $3 a month; its rows of job types need `metrics_per_type`.
    alarm_email: who is told; None for a topic without a subscriber.
    with_exercises: deploy functions/exercises too, job types that go wrong on purpose; for the local AWS only.
    """

    name: str
    keeps_data: bool = False
    audit_lock: Literal["governance", "compliance"] | None = None
    audit_lock_days: int = 365
    architecture: Literal["arm64", "x86_64"] = "arm64"
    shards: int = 1
    isolate_types: bool = True
    ended_index: bool = True
    concurrency: int | None = None
    resources: Mapping[str, int] = field(default_factory=dict, hash=False)
    wake_by_stream: bool = True
    lifecycle_events: bool = False
    poll_limit: int = POLL_LIMIT
    concurrency_policy: str | None = None
    policy_folder: str = "functions/policies"
    poll_interval: timedelta | None = None
    poller_concurrency: int | None = 5
    customer_key: bool = False
    permissions_boundary: str | None = None
    sentry_dsn_secret: str | None = None
    sentry_dsn_parameter: str | None = None
    webhook_keys_secret: str | None = None
    webhook_keys_parameter: str | None = None
    webhook_ports: tuple[int, ...] = (443,)
    webhook_concurrency: int | None = None
    webhook_concurrency_per_host: int | None = None
    api: ApiSettings | None = None
    log_retention_days: int = 30
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    metrics_per_type: bool = False
    dashboard: bool = False
    alarm_email: str | None = None
    with_exercises: bool = False

    def __post_init__(self) -> None:
        problems = [*self._problems(), *self._webhook_problems(), *self._lock_problems()]
        problems += self.api.problems() if self.api else ()
        if problems:
            raise ValueError(f"stage {self.name!r} in infra/stages.py: " + " ".join(problems))

    def _problems(self) -> Iterator[str]:
        if not _NAME.fullmatch(self.name):
            yield f"name = {self.name!r}: it is part of every resource's name. Use 1 to 16 of a-z and 0-9."
        if not 1 <= self.shards <= MAX_SHARDS:
            yield f"shards = {self.shards}: a job's id holds 1 to {MAX_SHARDS}. Use one of these."
        if self.concurrency is not None and not 1 <= self.concurrency <= MAX_SEATS:
            yield f"concurrency = {self.concurrency}: a limit has 1 to {MAX_SEATS} seats. Use one of these, or None."
        for name, seats in self.resources.items():
            if not 1 <= seats <= MAX_SEATS:
                yield f"resources, {name} = {seats}: a limit has 1 to {MAX_SEATS} seats. Use one of these."
        if not 1 <= self.poll_limit <= MAX_POLL_LIMIT:
            yield f"poll_limit = {self.poll_limit}: a poll reads 1 to {MAX_POLL_LIMIT} entries at once. Use 25."
        if self.poll_interval is not None and not timedelta(seconds=1) <= self.poll_interval < timedelta(minutes=1):
            yield f"poll_interval = {self.poll_interval}: the tick polls each minute. Use 1 to 59 seconds, or None."
        if self.poller_concurrency is not None and self.poller_concurrency < 4:
            yield f"poller_concurrency = {self.poller_concurrency}: ticks, a resident and wakes run at once. Use 4."
        if self.log_retention_days not in LOG_RETENTION_DAYS:
            yield f"log_retention_days = {self.log_retention_days}: CloudWatch takes one of {LOG_RETENTION_DAYS}."
        if self.log_level not in _LOG_LEVELS:
            yield f"log_level = {self.log_level!r}: there is no such level. Use one of {', '.join(_LOG_LEVELS)}."
        if self.dashboard and not self.metrics_per_type:
            yield "dashboard: its rows show each type by itself. Set metrics_per_type too."
        if self.sentry_dsn_secret and self.sentry_dsn_parameter:
            yield "sentry_dsn_secret and sentry_dsn_parameter: the DSN has one place. Remove one of them."

    def _webhook_problems(self) -> Iterator[str]:
        if self.webhook_keys_secret and self.webhook_keys_parameter:
            yield "webhook_keys_secret and webhook_keys_parameter: the keys have one place. Remove one of them."
        if not self.webhook_ports or not all(0 < port < 65_536 for port in self.webhook_ports):
            yield f"webhook_ports = {self.webhook_ports}: ports are 1 to 65535. Use (443,)."
        if self.webhook_concurrency is not None and self.webhook_concurrency < 1:
            yield f"webhook_concurrency = {self.webhook_concurrency}: nothing would be sent. Use 1 or more, or None."
        per_host = self.webhook_concurrency_per_host
        if per_host is not None and not 1 <= per_host <= MAX_SEATS:
            yield f"webhook_concurrency_per_host = {per_host}: a limit has 1 to {MAX_SEATS} seats. Use one, or None."

    def _lock_problems(self) -> Iterator[str]:
        if self.audit_lock_days < 1:
            yield f"audit_lock_days = {self.audit_lock_days}: a lock holds for a day or more. Use 365."

    def named(self, name: str) -> str:
        """The physical name of a resource: programs outside of the stacks find tables and functions by it."""
        return f"leasehold-{self.name}-{name}"

    @property
    def sends_webhooks(self) -> bool:
        return self.webhook_keys_secret is not None or self.webhook_keys_parameter is not None

    @property
    def metrics_namespace(self) -> str:
        return f"Leasehold/{self.name}"


STAGES: tuple[Stage, ...] = (
    Stage(
        name="dev",
        webhook_keys_parameter="/leasehold/dev/webhook-keys",
        metrics_per_type=True,
        dashboard=True,
    ),
    Stage(
        name="prod",
        keeps_data=True,
        audit_lock="governance",
        customer_key=True,
        log_retention_days=90,
        metrics_per_type=True,
        dashboard=True,
        sentry_dsn_secret="leasehold/prod/sentry-dsn",
        webhook_keys_secret="leasehold/prod/webhook-keys",
    ),
    # What `leasehold local deploy` puts onto the local AWS of this machine.
    Stage(
        name="local",
        architecture="x86_64",
        log_retention_days=1,
        # Nothing is stored there unless somebody wants to see the reports: put a DSN there, and they are sent.
        sentry_dsn_parameter="/leasehold/local/sentry-dsn",
        webhook_keys_parameter="/leasehold/local/webhook-keys",
        # Users that somebody makes there have the role that their name begins with.
        api=ApiSettings(
            access=Access(
                roles={
                    "viewer": ("arn:aws:iam::000000000000:user/viewer*",),
                    "operator": ("arn:aws:iam::000000000000:user/operator*",),
                    "admin": ("arn:aws:iam::000000000000:user/admin*", "arn:aws:iam::000000000000:root"),
                }
            )
        ),
        with_exercises=True,
    ),
)


def stage_named(name: str) -> Stage:
    for stage in STAGES:
        if stage.name == name:
            return stage
    names = ", ".join(stage.name for stage in STAGES)
    raise ValueError(f"there is no stage {name!r}. Use one of {names}, or add it to infra/stages.py.")
