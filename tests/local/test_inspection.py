"""What functions of the local AWS have logged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from leasehold.aws.job_logs import LogLine, log_lines
from leasehold.local.aws.inspection import looks


class Logs:
    """Says of each log group when it was asked about it, and knows nothing of `gone`."""

    exceptions = SimpleNamespace(ResourceNotFoundException=LookupError)

    def get_paginator(self, _: str) -> Logs:
        return self

    def paginate(self, *, logGroupName: str, startTime: int) -> Any:  # noqa: N803
        if logGroupName == "gone":
            raise LookupError
        return [{"events": [{"timestamp": startTime + len(logGroupName), "message": f"{logGroupName}\n"}]}]


def test_functions_of_one_name_in_two_queues_are_both_heard_in_order_of_time() -> None:
    groups = [("report", "/aws/lambda/prod-report"), ("report", "/aws/lambda/dev-report"), ("mail", "gone")]

    assert log_lines(Logs(), groups, startTime=5) == [
        LogLine("report", 5 + len("/aws/lambda/dev-report"), "/aws/lambda/dev-report"),
        LogLine("report", 5 + len("/aws/lambda/prod-report"), "/aws/lambda/prod-report"),
    ]


def test_a_line_is_told_once_however_often_it_is_read() -> None:
    asked: list[int] = []

    def read(after: int) -> list[LogLine]:
        asked.append(after)
        return [LogLine("report", 7, "one"), LogLine("report", 7 + len(asked), "more")]

    found = looks(read, after_millis=3)

    assert [[line.text for line in next(found)] for _ in range(2)] == [["one", "more"], ["more"]]
    assert asked == [3, 8]
