"""The daily root of all audit trails: a bucket that keeps what is put into it, and the function that puts it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledgements import ROOTS_BUCKET, acknowledge, acknowledge_wildcard
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import audit_root_statements
from infra.scheduled_start import ScheduledStart
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.stages import Stage


def _lock(stage: Stage) -> s3.ObjectLockRetention | None:
    """A compliance lock binds everybody, the account's root user included, until it ends."""
    kept_for = Duration.days(stage.audit_lock_days)
    match stage.audit_lock:
        case None:
            return None
        case "governance":
            return s3.ObjectLockRetention.governance(kept_for)
        case "compliance":
            return s3.ObjectLockRetention.compliance(kept_for)


class AuditRoots(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            versioned=True,
            object_lock_default_retention=_lock(stage),
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )
        acknowledge(self.bucket, *ROOTS_BUCKET)
        may_put = iam.PolicyStatement(
            sid="KeepRoots", actions=["s3:PutObject"], resources=[self.bucket.arn_for_objects("roots/*")]
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="audit-root",
                description="Keeps the daily root of all audit trails",
                folder=FUNCTIONS / "audit_root",
                timeout=Duration.minutes(15),
                memory_size=256,
                max_event_age=Duration.hours(1),
                key=key,
                environment={**environment, variables.AUDIT_ROOTS_BUCKET: self.bucket.bucket_name},
                statements=[*audit_root_statements(jobs), may_put, *key_statements],
            ),
        )
        acknowledge_wildcard(
            self.lambda_.policy,
            f"<{Stack.of(self).get_logical_id(self.bucket.node.default_child)}.Arn>/roots/*",  # type: ignore[arg-type]
            "A root's key is its date: one object a day, and nothing else is under that prefix.",
        )
        ScheduledStart(
            self,
            "Daily",
            name=stage.named("daily-audit-root"),
            description="Keeps the root of all audit trails",
            expression="cron(30 0 * * ? *)",
            function=self.lambda_.function,
            event={"source": "leasehold.audit-root"},
            spread_minutes=15,
        )
