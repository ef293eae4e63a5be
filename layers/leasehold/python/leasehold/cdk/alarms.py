"""Alarms that an operator is woken for; docs/operations.md says what each means and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Aws, CfnOutput, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from leasehold.cdk.context import ALARM_KINDS
from leasehold.cdk.metrics import MINUTE, own_metric, table_metric
from leasehold.kernel.table import DUE_INDEX
from leasehold.telemetry import CIRCUIT_OPEN, DEAD_LETTER_DEPTH, HEARTBEAT, LEASES_LOST, OLDEST_DUE_AGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_
    from aws_cdk import aws_sqs as sqs

    from leasehold.cdk.context import AlarmOptions, QueueContext
    from leasehold.cdk.handlers import JobHandler
    from leasehold.kernel.job_type import JobType

_BREACHING = cloudwatch.TreatMissingData.BREACHING
_FINE = cloudwatch.TreatMissingData.NOT_BREACHING
_OLDEST_DUE_SECONDS = 300


class Alarms(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        topic: sns.ITopic,
        poller: lambda_.IFunction,
        reporter: lambda_.IFunction,
        handlers: Sequence[JobHandler],
        undelivered_reports: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue = queue
        chosen = queue.alarms.kinds if queue.alarms else None
        self._kinds = ALARM_KINDS if chosen is None else chosen
        self._action = actions.SnsAction(topic)
        self.all: list[cloudwatch.Alarm] = []
        # Those of a type in a nested stack are there too.
        self._place: Construct = self
        self._of_the_queue()
        for name, function in (("Poller", poller), ("Reporter", reporter)):
            self._of_a_function(name, function)
        self._alarm(
            "UndeliveredReports",
            "A dead letter was not reported within the stream's time; the hourly sweep will try again.",
            undelivered_reports.metric_approximate_number_of_messages_visible(period=MINUTE),
            above=0,
        )
        self._alarm(
            "TableThrottles",
            "The job table refuses writes: a partition is at its limit. Raise `shards` if it stays so.",
            table_metric(queue.jobs.table_name, "WriteThrottleEvents"),
            above=10,
            periods=5,
        )
        # By itself: the table's figure leaves out its indexes, and the local AWS knows no metric math.
        self._alarm(
            "DueThrottles",
            "The due index refuses writes, and with it the table: a shard is at its limit. Raise `shards`.",
            table_metric(queue.jobs.table_name, "WriteThrottleEvents", GlobalSecondaryIndexName=DUE_INDEX.name),
            above=10,
            periods=5,
        )
        if not queue.metrics_per_type:
            self._of_jobs([handler.folder.job_type for handler in handlers])
        for handler in handlers:
            self._place = self if Stack.of(handler) is Stack.of(self) else handler
            if queue.metrics_per_type:
                self._of_jobs([handler.folder.job_type], f"-{handler.folder.name}", job_type=handler.folder.name)
            self._of_a_handler(handler)

    def _of_the_queue(self) -> None:
        self._alarm(
            "HeartbeatMissing",
            "The poller has not polled for three minutes: no job starts.",
            own_metric(self._queue, HEARTBEAT, statistic="Sum"),
            below=1,
            periods=3,
            missing=_BREACHING,
        )
        self._alarm(
            "DeadLetters",
            "A job failed for good. Look at it, then redrive or discard it.",
            own_metric(self._queue, DEAD_LETTER_DEPTH, statistic="Maximum"),
            above=0,
        )

    def _of_a_function(self, name: str, function: lambda_.IFunction) -> None:
        self._alarm(
            f"{name}Errors",
            f"The {name.lower()} fails.",
            function.metric_errors(period=MINUTE, statistic="Sum"),
            above=0,
            periods=3,
        )
        self._alarm(
            f"{name}Throttles",
            f"The {name.lower()} gets no concurrency.",
            function.metric_throttles(period=MINUTE, statistic="Sum"),
            above=5,
            periods=5,
        )

    def _of_jobs(self, job_types: Sequence[JobType], suffix: str = "", **dimensions: str) -> None:
        """Of one type's jobs, or of all jobs together."""
        whose = dimensions.get("job_type", "Some")
        self._alarm(
            f"Late{suffix}",
            f"{whose} jobs have been due for five minutes and were not claimed.",
            own_metric(self._queue, OLDEST_DUE_AGE, statistic="Maximum", period=MINUTE, label=None, **dimensions),
            above=_OLDEST_DUE_SECONDS,
            periods=3,
        )
        if any(job_type.breaker is not None for job_type in job_types):
            self._alarm(
                f"CircuitOpen{suffix}",
                f"Too many runs of {whose} jobs failed: a circuit breaker holds them back and tries one at a time.",
                own_metric(self._queue, CIRCUIT_OPEN, statistic="Maximum", period=MINUTE, label=None, **dimensions),
                above=0,
            )
        self._alarm(
            f"LeasesLost{suffix}",
            f"Workers of {whose} jobs lose their leases: they run longer than their lease, or die.",
            own_metric(self._queue, LEASES_LOST, statistic="Sum", period=Duration.minutes(5), label=None, **dimensions),
            above=5,
        )

    def _of_a_handler(self, handler: JobHandler) -> None:
        job_type = handler.folder.name
        self._alarm(
            f"Errors-{job_type}",
            f"The function of {job_type} crashes or times out instead of reporting a failure.",
            handler.function.metric_errors(period=Duration.minutes(5), statistic="Sum"),
            above=0,
            periods=3,
        )
        self._alarm(
            f"Throttles-{job_type}",
            f"The function of {job_type} gets no concurrency; its jobs wait.",
            handler.function.metric_throttles(period=Duration.minutes(5), statistic="Sum"),
            above=10,
            periods=3,
        )

    def _alarm(
        self,
        name: str,
        description: str,
        metric: cloudwatch.IMetric,
        *,
        above: float | None = None,
        below: float | None = None,
        periods: int = 1,
        missing: cloudwatch.TreatMissingData = _FINE,
    ) -> None:
        if name.partition("-")[0] not in self._kinds:
            return
        is_upper = above is not None
        alarm = cloudwatch.Alarm(
            self._place,
            name,
            alarm_description=description,
            metric=metric,
            threshold=above if above is not None else below if below is not None else 0,
            comparison_operator=(
                cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
                if is_upper
                else cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
            ),
            evaluation_periods=periods,
            treat_missing_data=missing,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        self.all.append(alarm)


def alarm_topic(scope: Construct, options: AlarmOptions, key: kms.IKey | None) -> sns.ITopic:
    """The one that the app names, or one of the queue's own."""
    if options.topic is not None:
        return options.topic
    topic = sns.Topic(scope, "Alerts", master_key=key, enforce_ssl=True)
    # A topic with a policy of its own has lost the default one, by which alarms could publish.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid="LetAlarmsPublish",
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )
    )
    if options.email is not None:
        topic.add_subscription(subscriptions.EmailSubscription(options.email))
    CfnOutput(scope, "AlertsTopicArn", value=topic.topic_arn)
    return topic
