"""The poller: ticked each minute, woken by the job table's stream, and allowed to start one resident of itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import STREAM_LISTING, acknowledge
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import poller_statements, stream_statements
from infra.scheduled_start import ScheduledStart
from infra.undelivered import Undelivered
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage

# A resident stays for 75 s; the rest is for the poll that it is in when its time is up.
TIMEOUT = Duration.seconds(120)
TICK = {"source": "leasehold.tick"}
# Filters cannot compare with now, so the writer decides: it sets `wake` on what falls due within the minute.
WAKE_PATTERN = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"NewImage": {"wake": {"BOOL": [True]}}},
}


class Poller(Construct):
    """`handlers` are the functions that it may invoke: exactly those of the deployed job types."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        handlers: Sequence[lambda_.IFunction],
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self._stage = stage
        name = stage.named("poller")
        itself = Stack.of(self).format_arn(
            service="lambda", resource="function", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="poller",
                description="Claims due jobs and hands them to their handlers",
                folder=FUNCTIONS / "poller",
                timeout=TIMEOUT,
                memory_size=512,
                environment={**environment, **_polls(stage)},
                statements=[
                    *poller_statements(jobs, dead_letters),
                    _may_invoke([*(handler.function_arn for handler in handlers), itself]),
                    *(stream_statements(jobs) if stage.wake_by_stream else []),
                    *key_statements,
                ],
                # A resident that cannot start now is started by the next wake or tick.
                max_event_age=Duration.seconds(60),
                reserved_concurrent_executions=stage.poller_concurrency,
                key=key,
            ),
        )
        self.function = self.lambda_.function
        ScheduledStart(
            self,
            "Tick",
            name=stage.named("tick"),
            description="The safety net: everything due is found at the latest by this",
            expression="rate(1 minute)",
            function=self.function,
            event=TICK,
        )
        if stage.wake_by_stream:
            self._wake(jobs, key)

    def _wake(self, jobs: dynamodb.ITable, key: kms.IKey | None) -> None:
        undelivered = Undelivered(self, "Undelivered", name="undelivered-wakes", stage=self._stage, key=key)
        undelivered.allow_from(self.lambda_)
        assert jobs.table_stream_arn is not None
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Wake",
            function_name=self.function.function_name,
            event_source_arn=jobs.table_stream_arn,
            starting_position="LATEST",
            batch_size=100,
            # Wakes are hints; the tick finds what they miss. One that fails must not hold up those behind it.
            maximum_retry_attempts=2,
            maximum_record_age_in_seconds=60,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=undelivered.queue.queue_arn)
            ),
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(WAKE_PATTERN))]
            ),
        )
        mapping.node.add_dependency(self.lambda_.policy)
        acknowledge(self.lambda_.policy, *STREAM_LISTING)


def _polls(stage: Stage) -> dict[str, str]:
    environment = {variables.POLL_LIMIT: str(stage.poll_limit)}
    if stage.poll_interval is not None:
        environment[variables.POLL_INTERVAL] = f"{stage.poll_interval.total_seconds():g}"
    if stage.concurrency_policy is not None:
        environment[variables.CONCURRENCY_POLICY] = stage.concurrency_policy
    return environment


def _may_invoke(functions: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid="HandOver", actions=["lambda:InvokeFunction"], resources=list(functions))
