"""A key of this account for everything at rest, where a stage asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

if TYPE_CHECKING:
    from infra.stages import Stage


class CustomerKey(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            alias=f"alias/{stage.named('data')}",
            description=f"Leasehold {stage.name}: tables, queues and the alert topic",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )
        # Alarms publish to the encrypted topic as CloudWatch, not as any role of ours.
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="LetAlarmsPublish",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                # In a key's own policy `*` is the key itself.
                resources=["*"],
            )
        )
