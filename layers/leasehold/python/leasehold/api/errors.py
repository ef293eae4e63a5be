"""What can be wrong with a request before anything is done about it. All of these are LeaseholdErrors.

NotAuthenticatedError        401  the authorizer does not say who it is
NotAllowedError              403  known, but the role does not suffice, or there is none
UnknownRouteError            404
NoSuchTemplateError          404  the template that the path names
MethodNotAllowedError        405  carries the methods that there are
RequestTooLargeError         413
UnsupportedContentError      415
InvalidRequestError          400  carries every field that is wrong
└── InvalidRequestKeyError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidInputError, LeaseholdError, RefusedError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.aws.api_access import Role
    from leasehold.templates.model import UnknownTemplateError


class NotAuthenticatedError(RefusedError, code="not_authenticated"):
    def __init__(self, problem: str) -> None:
        super().__init__(f"nobody knows who you are ({problem}). Sign the request, or send a token: see docs/api.md.")


class NotAllowedError(RefusedError, code="not_allowed"):
    def __init__(self, actor: str, role: Role | None, needed: Role | None) -> None:
        has = f"has the role {role.label}" if role else "has no role here"
        needs = f"this needs {needed.label}" if needed else "nobody may do this"
        super().__init__(f"{shown(actor)} {has}, and {needs}. Roles stand in `api` of the JobQueue.")


class UnknownRouteError(RefusedError, code="route_not_found"):
    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"there is no {shown(f'{method} {path}')}. GET /api/openapi.json lists what there is.")


class NoSuchTemplateError(RefusedError, code="template_not_found"):
    def __init__(self, error: UnknownTemplateError) -> None:
        super().__init__(str(error))


class MethodNotAllowedError(RefusedError, code="method_not_allowed"):
    def __init__(self, method: str, path: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{shown(path)} takes {', '.join(allowed)}, not {shown(method)}.")
        self.allowed = tuple(allowed)


class RequestTooLargeError(LeaseholdError, code="request_too_large"):
    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the body has {size} bytes; {limit} are taken. Send less at once.")


class UnsupportedContentError(LeaseholdError, code="unsupported_content_type"):
    def __init__(self, content_type: str) -> None:
        super().__init__(f"a body is application/json; got {shown(content_type)}.")


class InvalidRequestError(InvalidInputError, code="invalid_request"):
    """`fields` has a line for each thing that is wrong."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        where, what = fields[0]
        super().__init__(where, what, "See docs/openapi.json for what is taken.")
        self.fields = tuple(fields)
        self.args = ("; ".join(f"{name}: {reason}" for name, reason in fields),)


class InvalidRequestKeyError(InvalidRequestError, code="invalid_idempotency_key"):
    """An Idempotency-Key that cannot be one."""
