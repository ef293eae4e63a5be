"""The daily root of all audit trails: a bucket that keeps what is put into it, and the function that puts it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.acknowledgements import ROOTS_BUCKET, acknowledge, acknowledge_wildcard
from leasehold.cdk.event_sources import ScheduledStart
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.rights import audit_root_statements

if TYPE_CHECKING:
    from leasehold.cdk.context import AuditRootOptions, QueueContext


class AuditRoots(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext, options: AuditRootOptions) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            versioned=True,
            object_lock_default_retention=_lock(options),
            # Whatever happens to the stack: a bucket with a root in it could not be deleted, nor should it be.
            removal_policy=RemovalPolicy.RETAIN,
        )
        acknowledge(self.bucket, *ROOTS_BUCKET)
        may_put = iam.PolicyStatement(
            sid="KeepRoots", actions=["s3:PutObject"], resources=[self.bucket.arn_for_objects("roots/*")]
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="audit-root",
                description="Keeps the daily root of all audit trails",
                timeout=Duration.minutes(15),
                memory_size=256,
                max_event_age=Duration.hours(1),
                environment={**queue.system_environment, variables.AUDIT_ROOTS_BUCKET: self.bucket.bucket_name},
                statements=[*audit_root_statements(queue.jobs), may_put, *queue.key_statements],
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
            description="Keeps the root of all audit trails",
            expression="cron(30 0 * * ? *)",
            function=self.lambda_.function,
            event={"source": "leasehold.audit-root"},
            spread_minutes=15,
        )


def _lock(options: AuditRootOptions) -> s3.ObjectLockRetention | None:
    """A compliance lock binds everybody, the account's root user included, until it ends."""
    kept_for = Duration.days(options.lock_days)
    match options.lock:
        case "governance":
            return s3.ObjectLockRetention.governance(kept_for)
        case "compliance":
            return s3.ObjectLockRetention.compliance(kept_for)
        case _:
            return None
