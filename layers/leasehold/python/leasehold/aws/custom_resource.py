"""Answers to CloudFormation about a custom resource: without one, a deployment hangs for an hour."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECONDS = 10
_REASON_LENGTH = 1000


@contextmanager
def answered(event: Mapping[str, Any], *, physical_id: str) -> Iterator[None]:
    """Tell CloudFormation that the block succeeded, or why it did not."""
    try:
        yield
    except Exception as error:
        _answer(event, physical_id, "FAILED", f"{type(error).__name__}: {error}"[:_REASON_LENGTH])
        raise
    _answer(event, physical_id, "SUCCESS", "")


def _answer(event: Mapping[str, Any], physical_id: str, status: str, reason: str) -> None:
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId", physical_id),
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": {},
    }
    request = urllib.request.Request(
        event["ResponseURL"], data=json.dumps(body).encode(), method="PUT", headers={"Content-Type": ""}
    )
    with urllib.request.urlopen(request, timeout=_SECONDS):
        return
