"""Logs through Powertools, and metrics in CloudWatch's embedded metric format: JSON lines both."""

from __future__ import annotations

import json
import logging
import threading
import time
from itertools import batched
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from leasehold.telemetry import NAMESPACE, Event, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO


_LEVELS = {
    **dict.fromkeys((Event.JOB_DEAD_LETTERED, Event.DEAD_LETTER_ALERT, Event.CIRCUIT_OPENED), "error"),
    **dict.fromkeys((Event.JOB_FAILED, Event.JOB_REAPED, Event.LEASE_LOST, Event.ENTRY_FAILED), "warning"),
    **dict.fromkeys((Event.SETTLE_FAILED, Event.TIDY_FAILED, Event.REPORT_FAILED, Event.RECORD_UNREADABLE), "warning"),
}

# What the line of a job's end says again: for whoever asks for this level.
_DETAILS = frozenset({Event.JOB_ENQUEUED, Event.JOB_CLAIMED, Event.JOB_STARTED})
# Lines that wait for the end of the invocation and carry its metrics: a line of metrics by itself costs as much again.
_CARRIERS = frozenset({Event.JOB_COMPLETED, Event.POLL_FINISHED})
# What every poll says, whatever it found.
_OF_EVERY_POLL = frozenset({"worker_id", "scanned", "stopped_by"})


class PowertoolsTelemetry:
    """Log lines go out at once; metrics are gathered per set of dimensions and go out with `flush`.

    The lines of a completed job and of a poll wait for `flush` and carry the metrics: most lines are of these.
    `per_type`: metrics of jobs have the dimension `job_type`; else each counts once for the queue.
    """

    def __init__(
        self, service: str, *, namespace: str = NAMESPACE, per_type: bool = False, stream: TextIO | None = None
    ) -> None:
        self._namespace = namespace
        self._per_type = per_type
        self._stream = stream
        # Where in our code a line was written says nothing that its event does not.
        settings: dict[str, Any] = {"stream": stream, "child": False} if stream else {}
        self._logger = Logger(service=service, location=None, **settings)
        self._lock = threading.Lock()
        self._gathered: dict[tuple[tuple[str, str], ...], list[tuple[Metric, float]]] = {}
        self._waiting: tuple[Event, dict[str, object]] | None = None

    def event(self, event: Event, **fields: object) -> None:
        details = {name: value for name, value in fields.items() if value is not None and name != "message"}
        message = str(fields.get("message", event))
        is_detail = event in _DETAILS
        if event is Event.POLL_FINISHED:
            details = {name: value for name, value in details.items() if value != 0}
            is_detail = details.keys() <= _OF_EVERY_POLL
        if event in _CARRIERS and not is_detail and self._logger.log_level <= logging.INFO:
            with self._lock:
                before, self._waiting = self._waiting, (event, {"event": str(event), **details})
            self._write_waiting(before)
            return
        write = getattr(self._logger, "debug" if is_detail else _LEVELS.get(event, "info"))
        write(message, extra={"event": str(event), **details})

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        if set(dimensions) != set(metric.dimensions):
            raise TypeError(f"metric {metric.name} has dimensions {metric.dimensions}, not {sorted(dimensions)}")
        if metric.is_detail and not self._per_type:
            return
        sent = metric.sent_dimensions(per_type=self._per_type)
        key = tuple(sorted((name, each) for name, each in dimensions.items() if name in sent))
        with self._lock:
            self._gathered.setdefault(key, []).append((metric, value))

    def flush(self) -> None:
        """Write out what was gathered; call it at the end of every invocation."""
        with self._lock:
            gathered, self._gathered = self._gathered, {}
            waiting, self._waiting = self._waiting, None
        measured = [(dict(dimensions), values) for dimensions, values in gathered.items()]
        documents = metric_documents(self._namespace, measured, waiting[1] if waiting else None)
        if waiting is not None:
            self._write_waiting((waiting[0], documents.pop(0)))
        for document in documents:
            self._print(document)

    def _write_waiting(self, line: tuple[Event, dict[str, object]] | None) -> None:
        """One that still waits when another follows it in the same invocation goes without metrics."""
        if line is not None:
            # By itself: the formatter would add a second time of day, and takes a third of the time a job's end takes.
            self._print({"level": "INFO", "message": str(line[0]), "service": self._logger.service, **line[1]})

    def _print(self, document: Mapping[str, object]) -> None:
        print(json.dumps(document, separators=(",", ":"), default=str), file=self._stream)


if TYPE_CHECKING:
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
        for values in batched(measured, _VALUES_PER_LINE):
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

    def add(self, dimensions: Mapping[str, str], values: Sequence[tuple[Metric, float]]) -> None:
        for metric, value in values:
            self._fields.setdefault(metric.name, []).append(float(value))
        units = {metric.name: metric.unit.value for metric, _ in values}
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
