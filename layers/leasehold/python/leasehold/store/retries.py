"""Retry policies as JSON: in the registry for each type, and on a job that asked for one of its own."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

from leasehold.domain.retry import Delays, Exponential, Fixed

if TYPE_CHECKING:
    from leasehold.domain.retry import RetryPolicy


def retry_text(policy: RetryPolicy) -> str:
    return json.dumps(retry_document(policy), separators=(",", ":"))


def retry_of_text(text: str) -> RetryPolicy:
    return retry_of(json.loads(text))


def retry_document(policy: RetryPolicy) -> dict[str, object]:
    match policy:
        case Exponential(base, cap, jitter):
            return {"exponential": [base.total_seconds(), cap.total_seconds(), jitter]}
        case Fixed(delay):
            return {"fixed": delay.total_seconds()}
        case Delays(delays):
            return {"delays": [delay.total_seconds() for delay in delays]}
        case _:
            assert_never(policy)


def retry_of(document: dict[str, Any]) -> RetryPolicy:
    match document:
        case {"exponential": [base, cap, jitter]}:
            return Exponential(timedelta(seconds=base), timedelta(seconds=cap), jitter)
        case {"fixed": delay}:
            return Fixed(timedelta(seconds=delay))
        case {"delays": delays}:
            return Delays(tuple(timedelta(seconds=delay) for delay in delays))
        case _:
            raise ValueError(f"unknown retry policy {document!r}")
