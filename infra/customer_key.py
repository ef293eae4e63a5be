"""A key of this account for everything at rest, where a stage asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Aws, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

if TYPE_CHECKING:
    from infra.stages import Stage


_FOR_LOGS = (
    *("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey"),
    *("GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"),
)


class CustomerKey(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            alias=f"alias/{stage.named('data')}",
            description=f"Leasehold {stage.name}: tables, queues, logs and the alert topic",
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
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="LetLogsEncrypt",
                principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
                actions=[f"kms:{action}" for action in _FOR_LOGS],
                resources=["*"],
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": self._log_groups(stage)}},
            )
        )

    def _log_groups(self, stage: Stage) -> str:
        """The groups of this stage's stacks: CloudFormation names them after the stack."""
        return Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=f"leasehold-{stage.name}-*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
