"""Recurring schedules: the function that EventBridge wakes, and the wakes of the schedules in job.toml files.

The table decides what runs; a wake that is lost is made up for by the poller's tick. Schedules that are made at run
time get their wakes in the same group, from the poller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.acknowledgements import Finding, acknowledge
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import trigger_statements
from leasehold.domain.event_bridge import expression_of
from leasehold.settings import variables
from leasehold.settings.schedule_names import event_schedule_name, wake_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.stages import Stage
    from leasehold.domain.schedule import Schedule


class ScheduleWakes(Construct):
    """The group of all schedules, and the right to add to it; made first, because poller and trigger both need it."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.name = f"leasehold-{stage.name}"
        self.group = scheduler.CfnScheduleGroup(self, "Group", name=self.name)
        self.function_name = stage.named("schedule-trigger")
        self.function_arn = stack.format_arn(
            service="lambda",
            resource="function",
            resource_name=self.function_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        self.role = iam.Role(
            self,
            "Role",
            # Of this account only: nobody else's schedule can borrow the role.
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": stack.account}}
            ),
            description=f"Lets EventBridge Scheduler start {self.function_name}",
            inline_policies={
                "start": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            sid="Start", actions=["lambda:InvokeFunction"], resources=[self.function_arn]
                        )
                    ]
                )
            },
        )

    @property
    def environment(self) -> dict[str, str]:
        """What a function needs to know to tell EventBridge of schedules."""
        return {
            variables.SCHEDULE_GROUP: self.name,
            variables.SCHEDULE_FUNCTION: self.function_arn,
            variables.SCHEDULE_ROLE: self.role.role_arn,
        }

    @property
    def statements(self) -> list[iam.PolicyStatement]:
        """What it needs to be allowed."""
        return [
            iam.PolicyStatement(
                sid="TellEventBridge",
                actions=["scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"],
                resources=[self._schedules],
            ),
            iam.PolicyStatement(
                sid="LendRole",
                actions=["iam:PassRole"],
                resources=[self.role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
            ),
        ]

    def acknowledge(self, lambda_: LeaseholdFunction) -> None:
        """Schedules are named at run time: all of our own group is as narrow as it gets."""
        arn = f"arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/{self.name}/*"
        reason = "Schedules are named by users at run time; these are those of the stage's own group, and no others."
        acknowledge(lambda_.policy, Finding(f"AwsSolutions::AwsSolutions-IAM5[Resource::{arn}]", reason))

    @property
    def _schedules(self) -> str:
        return Stack.of(self).format_arn(service="scheduler", resource="schedule", resource_name=f"{self.name}/*")


class ScheduleTrigger(Construct):
    """`schedules` are those of the job.toml files: one wake for each that is enabled and that EventBridge can say."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        wakes: ScheduleWakes,
        schedules: Sequence[Schedule],
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="schedule-trigger",
                description="Makes the jobs of schedules at their slots",
                folder=FUNCTIONS / "schedule_trigger",
                timeout=Duration.seconds(30),
                memory_size=256,
                environment={**environment, **wakes.environment},
                statements=[*trigger_statements(jobs), *wakes.statements, *key_statements],
                # Later than this a tick has been there.
                max_event_age=Duration.minutes(2),
                key=key,
            ),
        )
        self.function = self.lambda_.function
        wakes.acknowledge(self.lambda_)
        for schedule in schedules:
            self._wake(schedule, wakes)

    def _wake(self, schedule: Schedule, wakes: ScheduleWakes) -> None:
        expression = expression_of(schedule.recurrence)
        if expression is None or not schedule.enabled:
            return
        wake = scheduler.CfnSchedule(
            self,
            f"Wake-{schedule.name}",
            name=event_schedule_name(wakes.name, schedule.name),
            group_name=wakes.name,
            description=f"Wakes the trigger at the slots of {schedule.name}",
            schedule_expression=expression[0],
            schedule_expression_timezone=expression[1],
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=wakes.function_arn,
                role_arn=wakes.role.role_arn,
                input=wake_event(schedule.name),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=2, maximum_event_age_in_seconds=120
                ),
            ),
        )
        wake.node.add_dependency(wakes.group, self.function)
