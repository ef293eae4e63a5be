"""The dashboard: what an operator looks at first, then a row per job type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from leasehold import telemetry
from leasehold.cdk.metrics import own_metric, table_metric
from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cdk.alarms import Alarms
    from leasehold.cdk.context import QueueContext
    from leasehold.cdk.handlers import JobHandler
    from leasehold.cdk.poller import Poller

# On-demand prices of us-east-1 in dollars; an estimate that shows the trend, not the bill.
WRITE_UNIT_PRICE = 0.625e-6
READ_UNIT_PRICE = 0.125e-6
ALARMS_PER_WIDGET = 100  # by CloudWatch
# With more the dashboard would be half of what a template may hold, and longer than anybody looks.
TYPES_WITH_ROWS = 40
MINUTES_A_MONTH = 43_200
OUTCOMES = ("success", "failed", "dead_letter", "cancelled", "skipped")


class Dashboard(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        poller: Poller,
        handlers: Sequence[JobHandler],
        alarms: Alarms | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue = queue
        self._types = [handler.folder.name for handler in handlers]
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", default_interval=Duration.hours(3))
        raised = alarms.all if alarms else []
        for start in range(0, len(raised), ALARMS_PER_WIDGET):
            shown = raised[start : start + ALARMS_PER_WIDGET]
            self.dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=shown, width=24))
        self.dashboard.add_widgets(
            self._graph("Waiting (due and unclaimed)", telemetry.QUEUE_DEPTH, "Maximum"),
            self._graph("Oldest due, seconds", telemetry.OLDEST_DUE_AGE, "Maximum"),
            self._graph("Claimed per minute", telemetry.CLAIMED, "Sum"),
        )
        self.dashboard.add_widgets(
            self._graph("Lateness p99, seconds (start minus due)", telemetry.LATENESS, "p99"),
            self._graph("Processing p99, seconds", telemetry.PROCESSING, "p99"),
            self._graph("Leases lost", telemetry.LEASES_LOST, "Sum"),
        )
        guarded = [handler.folder.name for handler in handlers if handler.folder.job_type.breaker is not None]
        if guarded:
            self.dashboard.add_widgets(self._graph("Open circuits", telemetry.CIRCUIT_OPEN, "Maximum", guarded))
        self.dashboard.add_widgets(*self._of_the_poller(poller))
        self.dashboard.add_widgets(*self._of_the_table(queue.jobs.table_name))
        for handler in handlers if len(handlers) <= TYPES_WITH_ROWS else ():
            self.dashboard.add_widgets(*self._of_a_type(handler))

    def _graph(
        self, title: str, metric: telemetry.Metric, statistic: str, types: Sequence[str] | None = None
    ) -> cloudwatch.GraphWidget:
        """A line for each of these types, by default for all."""
        lines = [
            own_metric(self._queue, metric, statistic=statistic, label=name, job_type=name)
            for name in types or self._types
        ]
        return cloudwatch.GraphWidget(title=title, left=lines, width=8)

    def _of_the_poller(self, poller: Poller) -> list[cloudwatch.IWidget]:
        own = self._queue
        wakes = [
            own_metric(own, telemetry.WAKE_UPS, statistic="Sum", label=channel, channel=channel)
            for channel in telemetry.CHANNELS
        ]
        return [
            cloudwatch.GraphWidget(
                title="Heartbeat and wake-ups",
                left=[own_metric(own, telemetry.HEARTBEAT, statistic="Sum"), *wakes],
                right=[
                    own_metric(own, telemetry.POLL_SCANNED, statistic="Sum"),
                    own_metric(own, telemetry.DISAGREEMENTS, statistic="Sum"),
                ],
                width=8,
            ),
            cloudwatch.GraphWidget(
                title="Poller",
                left=[poller.function.metric_duration(statistic="p99")],
                right=[poller.function.metric_errors(), poller.function.metric_throttles()],
                width=8,
            ),
            cloudwatch.GraphWidget(
                title="Dead letters",
                left=[own_metric(own, telemetry.DEAD_LETTER_DEPTH, statistic="Maximum")],
                right=[own_metric(own, telemetry.DEAD_LETTER_OLDEST_AGE, statistic="Maximum")],
                width=8,
            ),
        ]

    def _of_the_table(self, table: str) -> list[cloudwatch.IWidget]:
        written = table_metric(table, "ConsumedWriteCapacityUnits")
        read = table_metric(table, "ConsumedReadCapacityUnits")
        indexes = [DUE_INDEX, ENDED_INDEX] if self._queue.ended_index else [DUE_INDEX]
        in_indexes = {
            f"{index.name}_written": table_metric(
                table, "ConsumedWriteCapacityUnits", GlobalSecondaryIndexName=index.name
            )
            for index in indexes
        }
        all_written = " + ".join(["written", *in_indexes])
        cost = cloudwatch.MathExpression(
            expression=f"(({all_written}) * {WRITE_UNIT_PRICE:.9f} + read * {READ_UNIT_PRICE:.9f}) * {MINUTES_A_MONTH}",
            using_metrics={"written": written, "read": read, **in_indexes},
            label="dollars a month at this rate",
            period=Duration.minutes(1),
        )
        return [
            cloudwatch.GraphWidget(title="Units a minute", left=[written, *in_indexes.values(), read], width=8),
            cloudwatch.GraphWidget(
                title="Throttled requests",
                left=[table_metric(table, "WriteThrottleEvents"), table_metric(table, "ReadThrottleEvents")],
                width=8,
            ),
            cloudwatch.GraphWidget(title="DynamoDB cost estimate", left=[cost], width=8),
        ]

    def _of_a_type(self, handler: JobHandler) -> list[cloudwatch.IWidget]:
        name = handler.folder.name
        outcomes = [
            own_metric(self._queue, telemetry.COMPLETED, statistic="Sum", label=outcome, job_type=name, status=outcome)
            for outcome in OUTCOMES
        ]
        return [
            cloudwatch.GraphWidget(title=f"{name}: outcomes", left=outcomes, stacked=True, width=12),
            cloudwatch.GraphWidget(
                title=f"{name}: function",
                left=[handler.function.metric_duration(statistic="p99")],
                right=[
                    handler.function.metric_errors(),
                    handler.function.metric_throttles(),
                    handler.function.metric("ConcurrentExecutions", statistic="Maximum"),
                ],
                width=12,
            ),
        ]
