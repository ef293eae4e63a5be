"""Logs through Powertools, and metrics in CloudWatch's embedded metric format: JSON lines both."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from leasehold.aws.embedded_metrics import metric_documents
from leasehold.engine.telemetry import NAMESPACE, Event, Metric

if TYPE_CHECKING:
    from typing import TextIO

_ALARMING = frozenset({Event.JOB_DEAD_LETTERED, Event.DEAD_LETTER_ALERT, Event.CIRCUIT_OPENED})
_WARNING = frozenset(
    {
        Event.JOB_FAILED,
        Event.JOB_REAPED,
        Event.LEASE_LOST,
        Event.ENTRY_FAILED,
        Event.SETTLE_FAILED,
        Event.TIDY_FAILED,
        Event.REPORT_FAILED,
        Event.RECORD_UNREADABLE,
    }
)


# What the line of a job's end says again, with more: for whoever asks for this level.
_DETAILS = frozenset({Event.JOB_STARTED})


class PowertoolsTelemetry:
    """Log lines go out at once; metrics are gathered per set of dimensions and go out with `flush`.

    The line of a completed job waits for `flush` and carries the invocation's metrics: most lines are of these.
    """

    def __init__(self, service: str, *, namespace: str = NAMESPACE, stream: TextIO | None = None) -> None:
        self._namespace = namespace
        self._logger = Logger(service=service, stream=stream, child=False) if stream else Logger(service=service)
        self._lock = threading.Lock()
        self._gathered: dict[tuple[tuple[str, str], ...], list[tuple[Metric, float]]] = {}
        self._completed: dict[str, object] | None = None

    def event(self, event: Event, **fields: object) -> None:
        details = {name: value for name, value in fields.items() if value is not None and name != "message"}
        message = str(fields.get("message", event))
        if event is Event.JOB_COMPLETED:
            self._write_completed()
            self._completed = {"event": str(event), **details}
            return
        if event in _ALARMING:
            write = self._logger.error
        elif event in _WARNING:
            write = self._logger.warning
        elif event in _DETAILS:
            write = self._logger.debug
        else:
            write = self._logger.info
        write(message, extra={"event": str(event), **details})

    def measure(self, metric: Metric, value: float, **dimensions: str) -> None:
        if set(dimensions) != set(metric.dimensions):
            raise TypeError(f"metric {metric.name} has dimensions {metric.dimensions}, not {sorted(dimensions)}")
        with self._lock:
            self._gathered.setdefault(tuple(sorted(dimensions.items())), []).append((metric, value))

    def flush(self) -> None:
        """Write out what was gathered; call it at the end of every invocation."""
        with self._lock:
            gathered, self._gathered = self._gathered, {}
        completed, self._completed = self._completed, None
        measured = [(dict(dimensions), values) for dimensions, values in gathered.items()]
        documents = metric_documents(self._namespace, measured, completed)
        if completed is not None:
            self._logger.info(str(Event.JOB_COMPLETED), extra=documents.pop(0))
        for document in documents:
            print(json.dumps(document, separators=(",", ":")))

    def _write_completed(self) -> None:
        """One that still waits goes without metrics: another follows it in the same invocation."""
        completed, self._completed = self._completed, None
        if completed is not None:
            self._logger.info(str(Event.JOB_COMPLETED), extra=completed)
