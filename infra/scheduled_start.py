"""A function started by EventBridge Scheduler, through a role that may start this one function and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_lambda as lambda_


class ScheduledStart(Construct):
    """`spread_minutes` lets EventBridge choose the moment within so many minutes; 0 means on time."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        description: str,
        expression: str,
        function: lambda_.IFunction,
        event: Mapping[str, str],
        spread_minutes: int = 0,
    ) -> None:
        super().__init__(scope, construct_id)
        may_invoke = iam.PolicyStatement(
            sid="Start", actions=["lambda:InvokeFunction"], resources=[function.function_arn]
        )
        role = iam.Role(
            self,
            "Role",
            # Of this account only: nobody else's schedule can borrow the role.
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
            ),
            description=f"Lets EventBridge Scheduler start {name}",
            inline_policies={"start": iam.PolicyDocument(statements=[may_invoke])},
        )
        window = scheduler.CfnSchedule.FlexibleTimeWindowProperty
        scheduler.CfnSchedule(
            self,
            "Schedule",
            name=name,
            description=description,
            schedule_expression=expression,
            flexible_time_window=(
                window(mode="FLEXIBLE", maximum_window_in_minutes=spread_minutes)
                if spread_minutes
                else window(mode="OFF")
            ),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=function.function_arn,
                role_arn=role.role_arn,
                input=json.dumps(dict(event)),
                # The next start does the same: one that cannot be made now is left out.
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=0, maximum_event_age_in_seconds=60
                ),
            ),
        )
