"""What starts a function: EventBridge Scheduler by a role of its own, or a table's stream with a queue for its rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from leasehold.cdk.acknowledgements import LAST_QUEUE, STREAM_LISTING, acknowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_dynamodb as dynamodb

    from leasehold.cdk.context import QueueContext
    from leasehold.cdk.function import LeaseholdFunction


def scheduler_principal(scope: Construct) -> iam.ServicePrincipal:
    """Of this account only: nobody else's schedule can borrow the role."""
    return iam.ServicePrincipal(
        "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    )


class ScheduledStart(Construct):
    """`spread_minutes` lets EventBridge choose the moment within so many minutes; 0 means on time."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
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
            assumed_by=scheduler_principal(self),
            description=f"Lets EventBridge Scheduler start one function: {description}",
            inline_policies={"start": iam.PolicyDocument(statements=[may_invoke])},
        )
        window = scheduler.CfnSchedule.FlexibleTimeWindowProperty
        scheduler.CfnSchedule(
            self,
            "Schedule",
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


class StreamFollower(Construct):
    """A function that a table's stream starts. What it could not take is kept for a look, never for correctness."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        table: dynamodb.ITable,
        follower: LeaseholdFunction,
        pattern: Mapping[str, Any],
        starting_position: str,
        batch_size: int,
        retries: int,
        max_age: Duration,
    ) -> None:
        super().__init__(scope, construct_id)
        self.undelivered = sqs.Queue(
            self,
            "Undelivered",
            retention_period=Duration.days(14),
            encryption=sqs.QueueEncryption.KMS if queue.key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=queue.key,
            enforce_ssl=True,
        )
        acknowledge(self.undelivered, *LAST_QUEUE)
        # Lambda writes to the destination with the rights of the function whose records they are.
        follower.policy.add_statements(
            iam.PolicyStatement(
                sid="KeepUndelivered", actions=["sqs:SendMessage"], resources=[self.undelivered.queue_arn]
            )
        )
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=follower.function.function_name,
            event_source_arn=table.table_stream_arn,
            starting_position=starting_position,
            batch_size=batch_size,
            maximum_retry_attempts=retries,
            maximum_record_age_in_seconds=max_age.to_seconds(),
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=self.undelivered.queue_arn)
            ),
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(pattern))]
            ),
        )
        mapping.node.add_dependency(follower.policy)
        acknowledge(follower.policy, *STREAM_LISTING)


def stream_statements(table: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What Lambda needs to read a stream on a function's behalf."""
    assert table.table_stream_arn is not None
    return [
        iam.PolicyStatement(
            sid="ReadStream",
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[table.table_stream_arn],
        ),
        # ListStreams names no resource: AWS accepts nothing but `*` for it.
        iam.PolicyStatement(sid="ListStreams", actions=["dynamodb:ListStreams"], resources=["*"]),
    ]
