"""A Lambda function of ours: its own role, its own log group, and only the rights that it is given by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration, IgnoreMode, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.dependency_layer import architecture_of
from infra.paths import NOT_CODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from infra.stages import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProps:
    """name: of the function, its role and its log group. statements: all that its role allows besides logging."""

    name: str
    description: str
    folder: Path
    timeout: Duration
    memory_size: int
    environment: Mapping[str, str]
    statements: Sequence[iam.PolicyStatement]
    reserved_concurrent_executions: int | None = None
    log_retention_days: int | None = None
    code: lambda_.Code | None = None


class LeaseholdFunction(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        props: FunctionProps,
    ) -> None:
        super().__init__(scope, construct_id)
        name = stage.named(props.name)
        self.log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/leasehold/{stage.name}/{props.name}",
            retention=_retention(props.log_retention_days or stage.log_retention_days),
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(
            self,
            "Role",
            role_name=f"{name}-{Stack.of(self).region}",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What {name} may do, and nothing else",
        )
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            description=props.description,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=architecture_of(stage),
            handler="handler.lambda_handler",
            code=props.code
            or lambda_.Code.from_asset(str(props.folder), exclude=NOT_CODE, ignore_mode=IgnoreMode.GLOB),
            layers=list(layers),
            role=self.role.without_policy_updates(),
            timeout=props.timeout,
            memory_size=props.memory_size,
            environment=dict(props.environment),
            log_group=self.log_group,
            reserved_concurrent_executions=props.reserved_concurrent_executions,
        )
        # A resource of its own: a statement may name the function itself, which in turn needs the role.
        self.policy = iam.Policy(
            self,
            "Policy",
            policy_name="rights",
            roles=[self.role],
            statements=[self._may_log(), *props.statements],
        )
        self.function.node.add_dependency(self.role)

    def _may_log(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid="Log",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            # Streams are named by Lambda at run time: the group's own streams are as narrow as it gets.
            resources=[f"{self.log_group.log_group_arn.removesuffix(':*')}:*"],
        )


def _retention(days: int) -> logs.RetentionDays:
    for name, retention in logs.RetentionDays.__members__.items():
        if _DAYS.get(name) == days:
            return retention
    raise ValueError(f"log retention of {days} days: use one of {sorted(_DAYS.values())}.")


# CDK names the numbers that CloudWatch accepts, and does not say them.
_DAYS = {
    "ONE_DAY": 1,
    "THREE_DAYS": 3,
    "FIVE_DAYS": 5,
    "ONE_WEEK": 7,
    "TWO_WEEKS": 14,
    "ONE_MONTH": 30,
    "TWO_MONTHS": 60,
    "THREE_MONTHS": 90,
    "FOUR_MONTHS": 120,
    "FIVE_MONTHS": 150,
    "SIX_MONTHS": 180,
    "ONE_YEAR": 365,
    "THIRTEEN_MONTHS": 400,
    "EIGHTEEN_MONTHS": 545,
    "TWO_YEARS": 731,
    "THREE_YEARS": 1096,
    "FIVE_YEARS": 1827,
    "SIX_YEARS": 2192,
    "SEVEN_YEARS": 2557,
    "EIGHT_YEARS": 2922,
    "NINE_YEARS": 3288,
    "TEN_YEARS": 3653,
}
