"""What happens to jobs, on an EventBridge bus: rules of your own route it without polling."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import STREAM_LISTING, acknowledge
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import stream_statements
from infra.undelivered import Undelivered
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage

# Jobs only: scopes, seats and schedules live in the same table.
PATTERN = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"Keys": {"PK": {"S": ["job", {"prefix": "job#"}]}}},
}


class LifecycleEvents(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        jobs: dynamodb.ITable,
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.bus = events.EventBus(self, "Bus", event_bus_name=stage.named("events"))
        may_put = iam.PolicyStatement(sid="TellBus", actions=["events:PutEvents"], resources=[self.bus.event_bus_arn])
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="lifecycle-events",
                description="Tells an EventBridge bus what happens to jobs",
                folder=FUNCTIONS / "lifecycle_events",
                timeout=Duration.seconds(30),
                memory_size=256,
                max_event_age=Duration.minutes(5),
                key=key,
                environment={variables.EVENT_BUS: self.bus.event_bus_name},
                statements=[*stream_statements(jobs), may_put, *key_statements],
            ),
        )
        self._follow(jobs, stage, key)

    def _follow(self, jobs: dynamodb.ITable, stage: Stage, key: kms.IKey | None) -> None:
        undelivered = Undelivered(self, "Undelivered", name="undelivered-events", stage=stage, key=key)
        undelivered.allow_from(self.lambda_)
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Follow",
            function_name=self.lambda_.function.function_name,
            event_source_arn=jobs.table_stream_arn,
            starting_position="LATEST",
            batch_size=100,
            maximum_retry_attempts=1000,
            maximum_record_age_in_seconds=20 * 3600,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=undelivered.queue.queue_arn)
            ),
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(PATTERN))]
            ),
        )
        mapping.node.add_dependency(self.lambda_.policy)
        acknowledge(self.lambda_.policy, *STREAM_LISTING)
