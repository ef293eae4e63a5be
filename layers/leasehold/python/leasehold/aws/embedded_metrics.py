"""CloudWatch's embedded metric format: a log line from which CloudWatch takes metrics.

Written here and not by Powertools, whose provider checks each value against what other users might do; it took longer
to write a job's metrics than its log lines.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.engine.telemetry import Metric

# CloudWatch takes no more values of a metric in one line, nor more metrics; we have far fewer of these.
_VALUES_PER_LINE = 100


def metric_lines(
    namespace: str, dimensions: Mapping[str, str], measured: Sequence[tuple[Metric, float]]
) -> Iterator[str]:
    """All values that share their dimensions, in as few lines as CloudWatch takes."""
    for begin in range(0, len(measured), _VALUES_PER_LINE):
        values: dict[str, list[float]] = {}
        units: dict[str, str] = {}
        for metric, value in measured[begin : begin + _VALUES_PER_LINE]:
            values.setdefault(metric.name, []).append(float(value))
            units[metric.name] = metric.unit.value
        declared = {
            "Namespace": namespace,
            "Dimensions": [list(dimensions)],
            "Metrics": [{"Name": name, "Unit": unit} for name, unit in units.items()],
        }
        about = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [declared]}
        yield json.dumps({"_aws": about, **dimensions, **values}, separators=(",", ":"))
