"""The dead-letter reporter: every dead letter reaches Sentry, the log and the metrics, by stream or by sweep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import STREAM_LISTING, acknowledge
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import reporter_statements, stream_statements
from infra.scheduled_start import ScheduledStart
from infra.stored_text import reading_statements
from infra.undelivered import Undelivered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage

SWEEP = {"source": "leasehold.sweep"}


class DeadLetterReporter(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        dead_letters: dynamodb.ITable,
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
                name="dead-letter-reporter",
                description="Reports dead letters to Sentry",
                folder=FUNCTIONS / "dead_letter_reporter",
                timeout=Duration.seconds(60),
                memory_size=256,
                max_event_age=Duration.minutes(5),
                key=key,
                environment=environment,
                statements=[
                    *reporter_statements(jobs, dead_letters),
                    *stream_statements(dead_letters),
                    *dsn_statements(self, stage),
                    *key_statements,
                ],
            ),
        )
        self.function = self.lambda_.function
        self._follow(dead_letters, stage, key)
        ScheduledStart(
            self,
            "Sweep",
            name=stage.named("dead-letter-sweep"),
            description="Reports what outlived the stream",
            expression="rate(1 hour)",
            function=self.function,
            event=SWEEP,
            spread_minutes=15,
        )

    def _follow(self, dead_letters: dynamodb.ITable, stage: Stage, key: kms.IKey | None) -> None:
        self.undelivered = Undelivered(self, "Undelivered", name="undelivered-reports", stage=stage, key=key)
        self.undelivered.allow_from(self.lambda_)
        destination = self.undelivered.queue.queue_arn
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Follow",
            function_name=self.function.function_name,
            event_source_arn=dead_letters.table_stream_arn,
            # From the beginning: a letter written while the first deployment was under way is reported too.
            starting_position="TRIM_HORIZON",
            batch_size=10,
            # Sentry may be down for hours: a record goes back for most of the stream's day, then the sweep has it.
            maximum_retry_attempts=1000,
            maximum_record_age_in_seconds=20 * 3600,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=destination)
            ),
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps({"eventName": ["INSERT"]}))]
            ),
        )
        mapping.node.add_dependency(self.lambda_.policy)
        acknowledge(self.lambda_.policy, *STREAM_LISTING)


def dsn_statements(scope: Construct, stage: Stage) -> list[iam.PolicyStatement]:
    """The right to read the one secret or parameter that holds the DSN."""
    return reading_statements(scope, "ReadDsn", secret=stage.sentry_dsn_secret, parameter=stage.sentry_dsn_parameter)
