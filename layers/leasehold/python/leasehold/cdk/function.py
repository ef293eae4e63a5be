"""A Lambda function of ours: its own role, its own log group, and only the rights that it is given by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.acknowledgements import (
    NETWORK_INTERFACES,
    NO_EVENT_DESTINATION,
    NO_EVENT_QUEUE,
    NO_XRAY,
    OLDER_RUNTIME,
    acknowledge,
    acknowledge_log_streams,
)
from leasehold.job_folders.job_toml import LOG_RETENTION_DAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cdk.context import QueueContext

_RETENTION_NAMES = (
    *("ONE_DAY", "THREE_DAYS", "FIVE_DAYS", "ONE_WEEK", "TWO_WEEKS", "ONE_MONTH", "TWO_MONTHS", "THREE_MONTHS"),
    *("FOUR_MONTHS", "FIVE_MONTHS", "SIX_MONTHS", "ONE_YEAR", "THIRTEEN_MONTHS", "EIGHTEEN_MONTHS", "TWO_YEARS"),
    *("THREE_YEARS", "FIVE_YEARS", "SIX_YEARS", "SEVEN_YEARS", "EIGHT_YEARS", "NINE_YEARS", "TEN_YEARS"),
)
# So many functions, or partitions, fit into a policy of 6,144 characters whatever their names; a role takes ten such.
_ITEMS_PER_POLICY = 45
# So many fit beside the statements of the poller, which has most of them: 10,240 characters for a role's own policies.
_INLINE_ITEMS = 15
# What Lambda does on a function's behalf in a VPC, and what none of it can be narrowed to.
_INTERFACES = (
    *("AssignPrivateIpAddresses", "CreateNetworkInterface", "DeleteNetworkInterface"),
    *("DescribeNetworkInterfaces", "DescribeSubnets", "UnassignPrivateIpAddresses"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProps:
    """name: that people know the function by, e.g. poller or job-backup; by it logs and commands find it.
    statements: all that its role allows besides logging.
    max_event_age: how long an asynchronous event may wait; one that failed is never tried again.
    is_in_a_circle: whether pollers and handlers start one another; Lambda would stop such a chain after 16 rounds.
    code, handler: a job type's own; without, the system function `leasehold.functions.<name>`, from the layer.
    """

    name: str
    description: str
    timeout: Duration
    memory_size: int
    environment: Mapping[str, str]
    statements: Sequence[iam.PolicyStatement]
    max_event_age: Duration
    is_in_a_circle: bool = False
    reserved_concurrent_executions: int | None = None
    log_retention_days: int | None = None
    code: lambda_.Code | None = None
    handler: str = "index.lambda_handler"
    layers: Sequence[lambda_.ILayerVersion] = ()


class GrantedRole(iam.Role):
    """What an app grants to a function of ours is a policy in `grants`, the queue: the function does not wait for it.

    Else two functions that may call each other could not be made: each would wait for the other's name.
    """

    def __init__(self, scope: Construct, construct_id: str, *, grants: Construct, description: str) -> None:
        service = iam.ServicePrincipal("lambda.amazonaws.com")
        super().__init__(scope, construct_id, assumed_by=service, description=description)
        self._grants = grants
        self._granted: iam.Policy | None = None

    def add_to_principal_policy(self, statement: iam.PolicyStatement) -> iam.AddToPrincipalPolicyResult:
        if self._granted is None:
            self._granted = iam.Policy(self._grants, f"Granted-{self.node.addr[-8:]}", roles=[self])
        self._granted.add_statements(statement)
        return iam.AddToPrincipalPolicyResult(statement_added=True, policy_dependable=self._granted)

    def add_to_policy(self, statement: iam.PolicyStatement) -> bool:
        return self.add_to_principal_policy(statement).statement_added


class LeaseholdFunction(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext, props: FunctionProps) -> None:
        super().__init__(scope, construct_id)
        days = props.log_retention_days
        # Without a name of ours: it would be taken when a job type is removed and comes back.
        self.log_group = logs.LogGroup(
            self,
            "Logs",
            retention=retention_of(days) if days is not None else queue.log_retention,
            encryption_key=queue.key,
            removal_policy=queue.removal_policy,
        )
        self.role = GrantedRole(
            self,
            "Role",
            grants=queue.scope or self,
            description=f"What {props.name} of {queue.queue_name} may do, and nothing else",
        )
        module = props.name.replace("-", "_")
        self.function = lambda_.Function(
            self,
            "Function",
            description=props.description,
            runtime=queue.runtime,
            architecture=queue.architecture,
            handler=props.handler,
            code=props.code or lambda_.Code.from_inline(f"from leasehold.functions.{module} import lambda_handler\n"),
            layers=[*queue.system_layers, *props.layers],
            role=self.role,
            timeout=props.timeout,
            memory_size=props.memory_size,
            environment={**props.environment, variables.FUNCTION: props.name},
            log_group=self.log_group,
            reserved_concurrent_executions=props.reserved_concurrent_executions,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if props.is_in_a_circle else None,
            vpc=queue.vpc,
            vpc_subnets=queue.vpc_subnets,
            security_groups=list(queue.security_groups) if queue.security_groups else None,
        )
        # A resource of its own: a statement may name the function itself, which in turn needs the role.
        self.policy = iam.Policy(
            self,
            "Policy",
            policy_name="rights",
            roles=[self.role],
            statements=[self._may_log(), *props.statements],
        )
        if queue.vpc is not None:
            self._join_network()
        self.events = lambda_.EventInvokeConfig(
            self, "Events", function=self.function, retry_attempts=0, max_event_age=props.max_event_age
        )
        acknowledge(self.function, *OLDER_RUNTIME, *NO_EVENT_QUEUE, *NO_XRAY)
        acknowledge(self.events, *NO_EVENT_DESTINATION)
        acknowledge_log_streams(self.policy, self.log_group)

    def allow_invoking(self, sid: str, functions: Sequence[str]) -> None:
        self.allow_for_each(sid, functions, lambda some: _may_invoke(sid, some))

    def allow_for_each(
        self, sid: str, items: Sequence[str], allow: Callable[[Sequence[str]], iam.PolicyStatement]
    ) -> None:
        """In its own policy; where these are many, in policies apart: a role's own hold 10,240 characters in all."""
        if len(items) <= _INLINE_ITEMS:
            self.policy.add_statements(allow(items))
            return
        for number, start in enumerate(range(0, len(items), _ITEMS_PER_POLICY)):
            iam.ManagedPolicy(
                self,
                f"{sid}{number}",
                description="What its role may do with each of the job types",
                roles=[self.role],
                statements=[allow(items[start : start + _ITEMS_PER_POLICY])],
            )

    def _join_network(self) -> None:
        """A policy apart, which the function waits for: Lambda makes the interfaces while it makes the function."""
        policy = iam.Policy(
            self,
            "Network",
            policy_name="network",
            roles=[self.role],
            statements=[
                iam.PolicyStatement(
                    sid="JoinNetwork", actions=[f"ec2:{action}" for action in _INTERFACES], resources=["*"]
                )
            ],
        )
        acknowledge(policy, *NETWORK_INTERFACES)
        self.function.node.add_dependency(policy)

    def _may_log(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid="Log",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            # Streams are named by Lambda at run time: the group's own streams are as narrow as it gets.
            resources=[f"{self.log_group.log_group_arn.removesuffix(':*')}:*"],
        )


def _may_invoke(sid: str, functions: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=["lambda:InvokeFunction"], resources=list(functions))


def retention_of(days: int) -> logs.RetentionDays:
    """The CDK's name of a number of days that CloudWatch Logs accepts."""
    return logs.RetentionDays[dict(zip(LOG_RETENTION_DAYS, _RETENTION_NAMES, strict=True))[days]]
