"""What is told about a failed run to people outside of the account. What is not in here does not leave."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.domain.ids import JobId
    from leasehold.domain.payload import Json
    from leasehold.domain.run import Run


class Severity(StrEnum):
    # The job will be tried again.
    WARNING = "warning"
    # It is a dead letter: nothing happens until a person does something.
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """`fields` are the payload fields that the job type allows by name; `error` is redacted, see redaction.py."""

    job_id: JobId
    job_type: str
    severity: Severity
    error: str
    error_code: str
    failed_at: datetime
    attempts: int
    max_attempts: int | None = None
    runs: tuple[Run, ...] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)


def allowed_fields(payload: Json, names: Sequence[str]) -> dict[str, Json]:
    """The top-level fields of a payload that are allowed by name.

    >>> allowed_fields({"order": 7, "email": "ada@example.com"}, ["order", "region"])
    {'order': 7}
    """
    return {name: payload[name] for name in names if name in payload} if isinstance(payload, dict) else {}
