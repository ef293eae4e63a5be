"""Where stream records go that a function could not take: kept for a look, never needed for correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledgements import LAST_QUEUE, acknowledge

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.function import LeaseholdFunction
    from infra.stages import Stage


class Undelivered(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, name: str, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=stage.named(name),
            retention_period=Duration.days(14),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
        )
        acknowledge(self.queue, *LAST_QUEUE)

    def allow_from(self, source: LeaseholdFunction) -> None:
        """Lambda writes to the destination with the rights of the function whose records they are."""
        source.policy.add_statements(
            iam.PolicyStatement(sid="KeepUndelivered", actions=["sqs:SendMessage"], resources=[self.queue.queue_arn])
        )
