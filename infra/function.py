"""A Lambda function of ours: its own role, its own log group, and only the rights that it is given by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.acknowledgements import (
    NO_EVENT_DESTINATION,
    NO_EVENT_QUEUE,
    NO_XRAY,
    OLDER_RUNTIME,
    acknowledge,
    acknowledge_log_streams,
)
from infra.dependency_layer import architecture_of
from infra.paths import NOT_CODE
from infra.retention import retention_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aws_cdk import aws_kms as kms

    from infra.stages import Stage


MAX_NAME = 64  # characters of a function's name, by Lambda


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProps:
    """name: of the function and its log group.
    statements: all that its role allows besides logging.
    max_event_age: how long an asynchronous event may wait; one that failed is never tried again.
    key: a customer key for its logs.
    """

    name: str
    description: str
    folder: Path
    timeout: Duration
    memory_size: int
    environment: Mapping[str, str]
    statements: Sequence[iam.PolicyStatement]
    max_event_age: Duration
    reserved_concurrent_executions: int | None = None
    log_retention_days: int | None = None
    code: lambda_.Code | None = None
    handler: str = "handler.lambda_handler"
    key: kms.IKey | None = None


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
        name = checked_name(stage.named(props.name))
        self.log_group = logs.LogGroup(
            self,
            "Logs",
            # Logs that are kept have no name of ours: it would be taken when a job type is removed and comes back.
            log_group_name=None if stage.keeps_data else f"/leasehold/{stage.name}/{props.name}",
            retention=retention_of(props.log_retention_days or stage.log_retention_days),
            encryption_key=props.key,
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(
            self,
            "Role",
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
            handler=props.handler,
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
        self.events = lambda_.EventInvokeConfig(
            self, "Events", function=self.function, retry_attempts=0, max_event_age=props.max_event_age
        )
        acknowledge(self.function, *OLDER_RUNTIME, *NO_EVENT_QUEUE, *NO_XRAY)
        acknowledge(self.events, *NO_EVENT_DESTINATION)
        acknowledge_log_streams(self.policy, self.log_group)

    def _may_log(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid="Log",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            # Streams are named by Lambda at run time: the group's own streams are as narrow as it gets.
            resources=[f"{self.log_group.log_group_arn.removesuffix(':*')}:*"],
        )


def checked_name(name: str) -> str:
    if len(name) > MAX_NAME:
        raise ValueError(
            f"the function {name!r} would have a name of {len(name)} characters; Lambda takes {MAX_NAME}. "
            "Shorten the name of the job type's folder, or of the stage."
        )
    return name
