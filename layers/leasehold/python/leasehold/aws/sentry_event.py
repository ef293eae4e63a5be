"""A failure report as a Sentry event: a traceback becomes exceptions, with frames to group by and to click on."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from sentry_sdk.transport import HttpTransport

from leasehold.documents import picked
from leasehold.operate.failure_report import Severity

if TYPE_CHECKING:
    from sentry_sdk.envelope import Envelope

    from leasehold.operate.failure_report import FailureReport

_CHAINED = re.compile(
    r"\n\n(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):\n\n"
)
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)$')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<value>.*))?$", re.DOTALL)
_MARKERS = re.compile(r"^[\s~^]*$")

type Exceptions = list[dict[str, Any]]


def event_of(report: FailureReport) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event_id": event_id(report),
        "timestamp": report.failed_at,
        "level": str(report.severity),
        "logger": "leasehold",
        "transaction": report.job_type,
        "fingerprint": ["leasehold", report.job_type, report.error_code],
        "tags": {
            "job_id": report.job_id,
            "job_type": report.job_type,
            "attempt": str(report.attempts),
            "error_code": report.error_code,
        },
        "contexts": {
            "job": {
                **picked(report, "job_id", "job_type", "attempts", "max_attempts"),
                "will_retry": report.severity is Severity.WARNING,
            },
            "runs": {
                f"run {run.number}": picked(run, "worker", "started_at", "ended_at", "outcome", "error_code")
                for run in report.runs
            },
        },
    }
    if report.fields:
        event["contexts"]["payload"] = dict(report.fields)
    exceptions = exceptions_of(report.error)
    if exceptions is None:
        event["logentry"] = {"formatted": report.error.rstrip().rpartition("\n")[2]}
        event["extra"] = {"error": report.error}
    else:
        event["exception"] = {"values": exceptions}
    return event


def event_id(report: FailureReport) -> str:
    """The same for every copy of one report: Sentry keeps the first, so that sending again is safe."""
    name = f"{report.job_id}#{report.severity}#{report.attempts}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def exceptions_of(text: str) -> Exceptions | None:
    """The exceptions of a traceback, the cause before its effect; None where the text is no plain traceback."""
    found = [_exception(part) for part in _CHAINED.split(text.strip("\n"))]
    # The last is what ended the run; a cause whose beginning was cut off is left out.
    if not found or found[-1] is None:
        return None
    return [each for each in found if each is not None]


def _exception(part: str) -> dict[str, Any] | None:
    lines = part.split("\n")
    frames: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        if frame := _FRAME.match(line):
            frames.append(_frame(frame, lines[number + 1 : number + 2]))
        elif frames and line and not line.startswith(" "):
            raised = _RAISED.match("\n".join(lines[number:]))
            if raised is None:
                return None
            return {
                "type": raised["type"].rpartition(".")[2],
                "module": raised["type"].rpartition(".")[0] or None,
                "value": raised["value"] or "",
                "mechanism": {"type": "leasehold", "handled": True},
                "stacktrace": {"frames": frames},
            }
    return None


def _frame(frame: re.Match[str], following: list[str]) -> dict[str, Any]:
    context = following[0].strip() if following and following[0].startswith("    ") else None
    return {
        "filename": frame["file"].rpartition("/")[2],
        "abs_path": frame["file"],
        "lineno": int(frame["line"]),
        "function": frame["function"],
        **({"context_line": context} if context and not _MARKERS.match(context) else {}),
    }


class KnownOutcomeTransport(HttpTransport):
    # A Sentry that hangs must not use up the time of the function that reports.
    TIMEOUT = 3

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        # Why the last envelope did not arrive, in the SDK's words: network, status_500, self_rate_limits, …
        self.dropped: str | None = None

    def capture_envelope(self, envelope: Envelope) -> None:
        self.dropped = None
        try:
            self._send_envelope(envelope)
        except Exception as error:
            self.on_dropped_event(f"network: {error}")

    def on_dropped_event(self, reason: str, /) -> None:
        self.dropped = reason

    def _get_pool_options(self) -> dict[str, Any]:
        # The stream and the sweep try again; urllib3's own retries would only multiply the timeout.
        return {**super()._get_pool_options(), "retries": False}
