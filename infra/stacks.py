"""The reference app's two stacks: what must outlive every deployment, and what works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm

from leasehold.cdk import AuditRootOptions, JobQueue, JobQueueStore, WebhookOptions
from leasehold.cdk.function import retention_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs import Construct

    from infra.environments import Environment
    from leasehold.cdk.context import TextStore
    from leasehold.job_folders.job_toml import JobFolder


class DataStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, *, environment: Environment) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Leasehold {environment.name}: jobs and dead letters",
            termination_protection=environment.keeps_data,
        )
        key = self._key(environment) if environment.customer_key else None
        self.store = JobQueueStore(
            self,
            "Store",
            removal_policy=_removal_policy(environment),
            encryption_key=key,
            ended_index=environment.props.get("ended_index", True),
        )
        self.store.export_streams()

    def _key(self, environment: Environment) -> kms.Key:
        return kms.Key(
            self,
            "Key",
            description=f"Leasehold {environment.name}: tables, queues, logs and the alert topic",
            enable_key_rotation=True,
            removal_policy=_removal_policy(environment),
        )


class QueueStack(Stack):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        environment: Environment,
        data: DataStack,
        folders: Sequence[JobFolder],
    ) -> None:
        super().__init__(scope, construct_id, description=f"Leasehold {environment.name}: what works on the jobs")
        keys = self._stored("WebhookKeys", environment.webhook_keys)
        props: dict[str, Any] = {
            "removal_policy": _removal_policy(environment),
            "log_retention": retention_of(environment.log_retention_days),
            "sentry_dsn": self._stored("SentryDsn", environment.sentry_dsn),
            "webhooks": WebhookOptions(keys=keys) if keys else None,
            "audit_roots": AuditRootOptions(lock=environment.audit_lock),
            **environment.props,
        }
        self.queue = JobQueue(
            self,
            "Jobs",
            queue_name=environment.name,
            environment_name=environment.name,
            store=data.store,
            job_types=folders,
            **props,
        )

    def _stored(self, construct_id: str, place: str | None) -> TextStore | None:
        if place is None:
            return None
        if place.startswith("/"):
            return ssm.StringParameter.from_secure_string_parameter_attributes(self, construct_id, parameter_name=place)
        return secretsmanager.Secret.from_secret_name_v2(self, construct_id, place)


def _removal_policy(environment: Environment) -> RemovalPolicy:
    return RemovalPolicy.RETAIN if environment.keeps_data else RemovalPolicy.DESTROY
