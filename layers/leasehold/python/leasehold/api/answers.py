"""What a route answers."""

from __future__ import annotations

import json
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING

from leasehold.api import errors as api
from leasehold.kernel import errors
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.errors import LeaseholdError


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    document: Mapping[str, object]
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> str:
        return json.dumps(self.document, separators=(",", ":"), allow_nan=False)

    def to_text(self) -> str:
        """As it is kept for whoever asks again."""
        return json.dumps({"status": self.status, "document": self.document}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Answer:
        return cls(**json.loads(text))


PROBLEM = "application/problem+json"

# By the code of the nearest class; whatever is not in here is ours to repair, and a 500.
_CODES = {
    400: {"invalid_input"},
    401: {"identity_unknown", "not_authenticated"},
    403: {"not_allowed"},
    404: {"job_not_found", "schedule_not_found", "group_not_found", "template_not_found", "route_not_found"},
    405: {"method_not_allowed"},
    409: {"refused", "lease_lost", "transaction_refused"},
    413: {"payload_too_large", "request_too_large"},
    415: {"unsupported_content_type"},
    422: {
        *("unknown_job_type", "unknown_template", "invalid_payload", "invalid_member", "no_common_order"),
        *("webhooks_off", "idempotency_key_reused", "record_unreadable"),
    },
    423: {"system_halted", "job_type_paused"},
    429: {"direct_run_timeout"},
    503: {"not_deployed", "store_error", "dispatch_failed", "mirror_failed"},
}
STATUSES = {code: status for status, codes in _CODES.items() for code in codes}
_RETRY_AFTER_SECONDS = {423: "60", 429: "5", 503: "5"}
# What else an error knows that a program can use.
_DETAILS = ("existing", "path", "member", "state", "schedules", "limit")


def status_of(error: LeaseholdError) -> int:
    codes = (vars(kind).get("code") for kind in type(error).__mro__)
    return next((STATUSES[code] for code in codes if code in STATUSES), 500)


def problem_of(error: LeaseholdError, *, request_id: str = "-") -> Answer:
    code = status_of(error)
    known = {name: getattr(error, name, None) for name in _DETAILS}
    extra: dict[str, object] = {name: value for name, value in known.items() if isinstance(value, str | int | tuple)}
    if isinstance(error, api.InvalidRequestError):
        extra["fields"] = [{"field": name, "reason": reason} for name, reason in error.fields]
    headers = {"Retry-After": _RETRY_AFTER_SECONDS[code]} if code in _RETRY_AFTER_SECONDS else {}
    if isinstance(error, api.MethodNotAllowedError):
        headers["Allow"] = ", ".join(error.allowed)
    detail = str(error)
    if code >= 500 and not isinstance(error, errors.RefusedError):
        # What AWS says of a failure names accounts, roles and tables: that is for the log.
        detail = f"something that this needs did not answer as it should; the log of the API has it under {request_id}"
    return _problem(code, error.code, detail, headers, **extra)


def internal_problem(request_id: str) -> Answer:
    """What went wrong stands in the log, and only there."""
    return _problem(500, "internal_error", f"this is a fault of Leasehold; its log has it under {request_id}", {})


def _problem(status: int, code: str, detail: str, headers: dict[str, str], **extra: object) -> Answer:
    document = {
        "type": f"urn:leasehold:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **extra,
    }
    return Answer(status=status, document=document, content_type=PROBLEM, headers=headers)
