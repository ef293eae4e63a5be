"""The poller: ticked each minute, woken by the job table's stream, and allowed to start one resident of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.event_sources import ScheduledStart, StreamFollower, stream_statements
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.layers import policy_layer
from leasehold.cdk.rights import poller_statements, schedule_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_lambda as lambda_

    from leasehold.cdk.context import QueueContext
    from leasehold.cdk.schedules import ScheduleWakes

# A resident stays for 75 s; the rest is for the poll that it is in when its time is up.
TIMEOUT = Duration.seconds(120)
TICK = {"source": "leasehold.tick"}
# Filters cannot compare with now, so the writer decides: it sets `wake` on what falls due within the minute.
WAKE_PATTERN = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"NewImage": {"wake": {"BOOL": [True]}}},
}


class Poller(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext, wakes: ScheduleWakes) -> None:
        super().__init__(scope, construct_id)
        policy = queue.concurrency_policy
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="poller",
                description="Claims due jobs and hands them to their handlers",
                timeout=TIMEOUT,
                memory_size=512,
                environment={
                    **queue.system_environment,
                    **queue.sentry_environment,
                    **wakes.environment_of_others,
                    **_polls(queue),
                },
                statements=[
                    *poller_statements(queue.jobs, queue.dead_letters),
                    *(stream_statements(queue.jobs) if queue.wake_by_stream else []),
                    *queue.sentry_statements,
                    *queue.key_statements,
                    *schedule_statements(queue.jobs),
                    *wakes.statements,
                ],
                # A resident that cannot start now is started by the next wake or tick.
                max_event_age=Duration.seconds(60),
                is_in_a_circle=True,
                reserved_concurrent_executions=queue.poller_concurrency,
                layers=[policy_layer(self, "Policy", queue=queue, policy=policy)] if policy else [],
            ),
        )
        wakes.acknowledge(self.lambda_)
        self.function = self.lambda_.function
        ScheduledStart(
            self,
            "Tick",
            description="The safety net: everything due is found at the latest by this",
            expression="rate(1 minute)",
            function=self.function,
            event=TICK,
        )
        if queue.wake_by_stream:
            StreamFollower(
                self,
                "Wake",
                queue=queue,
                table=queue.jobs,
                follower=self.lambda_,
                pattern=WAKE_PATTERN,
                starting_position="LATEST",
                batch_size=100,
                # Wakes are hints; the tick finds what they miss. One that fails must not hold up those behind it.
                retries=2,
                max_age=Duration.seconds(60),
            )

    def hand_over_to(self, handlers: Sequence[lambda_.IFunction]) -> None:
        """Let it invoke exactly the functions of the deployed job types, and itself."""
        functions = [*(each.function_arn for each in handlers), self.function.function_arn]
        self.lambda_.allow_invoking("HandOver", functions)


def _polls(queue: QueueContext) -> dict[str, str]:
    environment = {variables.POLL_LIMIT: str(queue.poll_limit)}
    if queue.poll_interval is not None:
        environment[variables.POLL_INTERVAL] = f"{queue.poll_interval.total_seconds():g}"
    if queue.concurrency_policy is not None:
        environment[variables.CONCURRENCY_POLICY] = queue.concurrency_policy
    return environment
