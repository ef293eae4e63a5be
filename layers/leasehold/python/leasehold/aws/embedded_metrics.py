"""CloudWatch's embedded metric format: a log line from which CloudWatch takes metrics.

Written here and not by Powertools, whose provider checks each value against what other users might do; it took longer
to write a job's metrics than its log lines.
"""

from __future__ import annotations

import time
from itertools import batched
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.engine.telemetry import Metric

    type Gathered = Iterable[tuple[Mapping[str, str], Sequence[tuple[Metric, float]]]]

# CloudWatch takes no more values of a metric in one line, nor more metrics; we have far fewer of these.
_VALUES_PER_LINE = 100


def metric_documents(
    namespace: str, gathered: Gathered, line: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    """All values in as few documents as they fit into; `line` is a log line that takes in what agrees with it.

    Values of different dimensions share a document where their words agree: each byte of a log is paid.
    """
    made = [_Document(namespace, line)] if line is not None else []
    for dimensions, measured in gathered:
        for values in batched(measured, _VALUES_PER_LINE, strict=False):
            document = next((each for each in made if each.takes(dimensions, values)), None)
            if document is None:
                document = _Document(namespace, {})
                made.append(document)
            document.add(dimensions, values)
    return [each.as_fields() for each in made]


class _Document:
    def __init__(self, namespace: str, line: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._fields: dict[str, Any] = dict(line)
        self._declared: list[dict[str, Any]] = []

    def takes(self, dimensions: Mapping[str, str], values: Iterable[tuple[Metric, float]]) -> bool:
        return all(self._fields.get(name, value) == value for name, value in dimensions.items()) and not any(
            metric.name in self._fields for metric, _ in values
        )

    def add(self, dimensions: Mapping[str, str], values: Iterable[tuple[Metric, float]]) -> None:
        units: dict[str, str] = {}
        for metric, value in values:
            self._fields.setdefault(metric.name, []).append(float(value))
            units[metric.name] = metric.unit.value
        self._fields.update(dimensions)
        self._declared.append(
            {
                "Namespace": self._namespace,
                "Dimensions": [list(dimensions)],
                "Metrics": [{"Name": name, "Unit": unit} for name, unit in units.items()],
            }
        )

    def as_fields(self) -> dict[str, Any]:
        if not self._declared:
            return self._fields
        return {"_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": self._declared}, **self._fields}
