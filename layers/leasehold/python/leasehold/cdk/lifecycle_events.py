"""What happens to jobs, on an EventBridge bus: rules of your own route it without polling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.event_sources import StreamFollower, stream_statements
from leasehold.cdk.function import FunctionProps, LeaseholdFunction

if TYPE_CHECKING:
    from leasehold.cdk.context import QueueContext

# Jobs only: scopes, seats and schedules live in the same table.
PATTERN = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"Keys": {"PK": {"S": ["job", {"prefix": "job#"}]}}},
}


class LifecycleEvents(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext) -> None:
        super().__init__(scope, construct_id)
        self.bus = events.EventBus(self, "Bus")
        may_put = iam.PolicyStatement(sid="TellBus", actions=["events:PutEvents"], resources=[self.bus.event_bus_arn])
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="lifecycle-events",
                description="Notifies an EventBridge bus of what happens to jobs",
                timeout=Duration.seconds(30),
                memory_size=256,
                max_event_age=Duration.minutes(5),
                environment={variables.QUEUE_NAME: queue.queue_name, variables.EVENT_BUS: self.bus.event_bus_name},
                statements=[*stream_statements(queue.jobs), may_put, *queue.key_statements],
            ),
        )
        StreamFollower(
            self,
            "Follow",
            queue=queue,
            table=queue.jobs,
            follower=self.lambda_,
            pattern=PATTERN,
            starting_position="LATEST",
            batch_size=100,
            retries=1000,
            max_age=Duration.hours(20),
        )
