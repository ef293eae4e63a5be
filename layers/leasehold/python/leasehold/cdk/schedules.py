"""Recurring schedules: the function that EventBridge wakes, and the wakes of the schedules in job.toml files.

The table decides what runs; a wake that is lost is made up for by the poller's tick. Schedules that are made at run
time get their wakes in the same group, from the poller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.aws.names import event_schedule_name, wake_event
from leasehold.cdk.acknowledgements import Finding, acknowledge
from leasehold.cdk.event_sources import scheduler_principal
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.rights import trigger_statements
from leasehold.schedules.recurrence import expression_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cdk.context import QueueContext
    from leasehold.schedules.model import Schedule


class ScheduleWakes(Construct):
    """The trigger, the group of all schedules that wake it, and the right to add to that group.

    `schedules` are those of the job.toml files: one wake for each that is enabled and that EventBridge can say.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, queue: QueueContext, schedules: Sequence[Schedule]
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = scheduler.CfnScheduleGroup(self, "Group")
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=scheduler_principal(self),
            description=f"Lets EventBridge Scheduler wake the schedules of {queue.queue_name}",
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="schedule-trigger",
                description="Makes the jobs of schedules at their slots",
                timeout=Duration.seconds(30),
                memory_size=256,
                environment={**queue.system_environment, **queue.sentry_environment, **self._environment},
                statements=[
                    *trigger_statements(queue.jobs),
                    *self.statements,
                    *queue.sentry_statements,
                    *queue.key_statements,
                ],
                # Later than this a tick has been there.
                max_event_age=Duration.minutes(2),
            ),
        )
        self.function = self.lambda_.function
        # Apart from the role, whose name the function itself is told.
        self._start = iam.Policy(
            self,
            "Start",
            policy_name="start",
            roles=[self.role],
            statements=[
                iam.PolicyStatement(
                    sid="Start", actions=["lambda:InvokeFunction"], resources=[self.function.function_arn]
                )
            ],
        )
        self.acknowledge(self.lambda_)
        for schedule in schedules:
            self._wake(schedule)

    @property
    def _environment(self) -> dict[str, str]:
        """What the trigger knows: it is itself what a wake starts."""
        return {variables.SCHEDULE_GROUP: self.group.ref, variables.SCHEDULE_ROLE: self.role.role_arn}

    @property
    def environment_of_others(self) -> dict[str, str]:
        """What another function needs to know to keep EventBridge's schedules."""
        return {**self._environment, variables.SCHEDULE_FUNCTION: self.function.function_arn}

    @property
    def statements(self) -> list[iam.PolicyStatement]:
        """What it needs to be allowed."""
        schedules = Stack.of(self).format_arn(
            service="scheduler", resource="schedule", resource_name=f"{self.group.ref}/*"
        )
        return [
            iam.PolicyStatement(
                sid="TellEventBridge",
                actions=["scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"],
                resources=[schedules],
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
        group = Stack.of(self).get_logical_id(self.group)
        arn = f"arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/<{group}>/*"
        reason = "Schedules are named by users at run time; these are those of the queue's own group, and no others."
        acknowledge(lambda_.policy, Finding(f"AwsSolutions::AwsSolutions-IAM5[Resource::{arn}]", reason))

    def _wake(self, schedule: Schedule) -> None:
        expression = expression_of(schedule.recurrence)
        if expression is None or not schedule.enabled:
            return
        wake = scheduler.CfnSchedule(
            self,
            f"Wake-{schedule.name}",
            name=event_schedule_name(schedule.name),
            group_name=self.group.ref,
            description=f"Wakes the trigger at the slots of {schedule.name}",
            schedule_expression=expression[0],
            schedule_expression_timezone=expression[1],
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=self.function.function_arn,
                role_arn=self.role.role_arn,
                input=wake_event(schedule.name),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=2, maximum_event_age_in_seconds=120
                ),
            ),
        )
        wake.node.add_dependency(self._start)
