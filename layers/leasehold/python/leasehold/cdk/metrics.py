"""Metrics that dashboards and alarms read: Leasehold's own by their declared names, AWS's by theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

if TYPE_CHECKING:
    from leasehold.telemetry import Metric


class Namespaced(Protocol):
    """A queue, as far as its metrics go."""

    @property
    def metrics_namespace(self) -> str: ...

    @property
    def metrics_per_type(self) -> bool: ...


MINUTE = Duration.minutes(1)


def own_metric(
    queue: Namespaced,
    metric: Metric,
    *,
    statistic: str,
    period: Duration = MINUTE,
    label: str | None = None,
    **dimensions: str,
) -> cloudwatch.Metric:
    """A metric of ours under exactly the dimensions that the code emits it with: others would show nothing."""
    sent = metric.sent_dimensions(per_type=queue.metrics_per_type)
    if set(dimensions) != set(sent):
        raise ValueError(f"{metric.name} is emitted with {sent}, not {tuple(dimensions)}. Name them all.")
    return cloudwatch.Metric(
        namespace=queue.metrics_namespace,
        metric_name=metric.name,
        dimensions_map=dimensions or None,
        statistic=statistic,
        period=period,
        label=label,
    )


def table_metric(table_name: str, name: str, *, statistic: str = "Sum", **dimensions: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name=name,
        dimensions_map={"TableName": table_name, **dimensions},
        statistic=statistic,
        period=MINUTE,
    )
