"""The log lines of one job, from the log groups of its handler and of the poller, in a form that people can read."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Lines are written at an invocation's end, and by clocks that differ.
_MARGIN = timedelta(minutes=2)
# What every line has, what the metrics in it are for, and what the reader has asked for.
_NOT_SHOWN = frozenset(
    {"_aws", "level", "message", "event", "timestamp", "location", "service", "job_id", "job_type", "exception"}
    | {"exception_name", "stack_trace", "trace", "xray_trace_id", "sampling_rate", "cold_start", "taskName"}
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """As it was written."""

    function: str
    at_millis: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLogLine:
    """fields: what the line says besides; text: lines below it, e.g. a traceback."""

    at: datetime
    function: str
    level: str
    message: str
    fields: Mapping[str, Any]
    text: str | None = None


def insights_address(logs: str, job_id: str, *, since: datetime, until: datetime) -> str:
    """The address of a query in CloudWatch Logs Insights for all lines that name a job; `logs` is as in JobType."""
    region, _, group = logs.partition(":")
    query = f"fields @timestamp, level, message, @message\n| filter @message like '{job_id}'\n| sort @timestamp asc"
    times = [f"{each - _MARGIN:%Y-%m-%dT%H:%M:%S.000Z}" for each in (since, until + 2 * _MARGIN)]
    detail = (
        f"~(end~'{_quoted(times[1])}~start~'{_quoted(times[0])}~timeType~'ABSOLUTE~tz~'UTC"
        f"~editorString~'{_quoted(query)}~source~(~'{_quoted(group)}))"
    )
    home = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}"
    return f"{home}#logsV2:logs-insights" + quote(f"?queryDetail={detail}", safe="~()'*-_.").replace("%", "$")


def _quoted(text: str) -> str:
    """As the console writes texts in its addresses: each byte that is no letter as `*` and two digits."""
    return quote(text, safe="-_.").replace("%", "*")


def job_log_lines(
    job_id: str, groups: Mapping[str, str], logs: Any, *, since: datetime, until: datetime
) -> list[JobLogLine]:
    """All lines that name the job, in order of time. `groups` are log groups by what people call their function."""
    times = {"startTime": _millis(since - _MARGIN), "endTime": _millis(until + _MARGIN)}
    found = log_lines(logs, groups.items(), filterPattern=f'"{job_id}"', **times)
    # Not everything that answers like CloudWatch filters as it does.
    return [read_line(each) for each in found if job_id in each.text]


def log_lines(logs: Any, groups: Iterable[tuple[str, str]], **wanted: Any) -> list[LogLine]:
    """Of these log groups, each behind the name of its function, in order of time; names may come twice."""
    lines = [
        LogLine(function, event["timestamp"], event["message"].rstrip())
        for function, group in groups
        for event in log_events(logs, group, **wanted)
    ]
    return sorted(lines, key=lambda line: line.at_millis)


def log_events(logs: Any, group: str, **wanted: Any) -> Iterator[dict[str, Any]]:
    """All of a log group, page by page; nothing of a function that has never run, and so has none."""
    with suppress(logs.exceptions.ResourceNotFoundException):
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group, **wanted):
            yield from page["events"]


def is_lambdas_own(text: str) -> bool:
    """Lines about the life of a function, which say nothing about jobs."""
    return text.startswith(("START RequestId", "END RequestId", "REPORT RequestId", "INIT_START"))


def read_line(written: LogLine) -> JobLogLine:
    """
    >>> line = read_line(LogLine("poller", 0, '{"level":"INFO","message":"job_completed","attempt":1}'))
    >>> line.level, line.message, line.fields
    ('INFO', 'job_completed', {'attempt': 1})
    """
    told: Any = None
    with suppress(ValueError):
        told = json.loads(written.text)
    if not isinstance(told, dict):
        told = {"message": written.text}
    # A metric's values are lists of numbers, for CloudWatch.
    fields = {
        name: value for name, value in told.items() if name not in _NOT_SHOWN and not isinstance(value, list | dict)
    }
    message = told.get("message", told.get("event", ""))
    text_below = told.get("exception")
    return JobLogLine(
        at=datetime.fromtimestamp(written.at_millis / 1000, UTC),
        function=written.function,
        level=str(told.get("level", "-")),
        message=message if isinstance(message, str) else json.dumps(message),
        fields=fields,
        text=None if text_below is None else str(text_below),
    )


def _millis(moment: datetime) -> int:
    return max(int(moment.timestamp() * 1000), 0)
