"""The dead-letter reporter: every dead letter reaches Sentry, the log and the metrics, by stream or by sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from leasehold.cdk.event_sources import ScheduledStart, StreamFollower, stream_statements
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.rights import reporter_statements

if TYPE_CHECKING:
    from leasehold.cdk.context import QueueContext

SWEEP = {"source": "leasehold.sweep"}


class DeadLetterReporter(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext) -> None:
        super().__init__(scope, construct_id)
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="dead-letter-reporter",
                description="Reports dead letters to Sentry",
                timeout=Duration.seconds(60),
                memory_size=256,
                max_event_age=Duration.minutes(5),
                environment={**queue.system_environment, **queue.sentry_environment},
                statements=[
                    *reporter_statements(queue.jobs, queue.dead_letters),
                    *stream_statements(queue.dead_letters),
                    *queue.sentry_statements,
                    *queue.key_statements,
                ],
            ),
        )
        self.function = self.lambda_.function
        self.undelivered = StreamFollower(
            self,
            "Follow",
            queue=queue,
            table=queue.dead_letters,
            follower=self.lambda_,
            pattern={"eventName": ["INSERT"]},
            # From the beginning: a dead letter written while the first deployment was under way is reported too.
            starting_position="TRIM_HORIZON",
            batch_size=10,
            # Sentry may be down for hours: a record goes back for most of the stream's day, then the sweep has it.
            retries=1000,
            max_age=Duration.hours(20),
        ).undelivered
        ScheduledStart(
            self,
            "Sweep",
            description="Reports what outlived the stream",
            expression="rate(1 hour)",
            function=self.function,
            event=SWEEP,
            spread_minutes=15,
        )
