"""Who calls, as the gateway's authorizer says: never what a header or a body says of itself."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from leasehold.api.errors import NotAuthenticatedError
from leasehold.aws.api_access import Role
from leasehold.kernel.payload import fits
from leasehold.kernel.ports import KnownIdentity
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import timedelta

    from pydantic import BaseModel

    from leasehold.admin.others import Auditor
    from leasehold.admin.reading import Reader
    from leasehold.api.answers import Answer
    from leasehold.api.idempotency import Asked
    from leasehold.aws.api_access import Access, Jwt
    from leasehold.direct_runs.run import Starter
    from leasehold.kernel.ports import Identity
    from leasehold.kernel.services import Services
    from leasehold.queue import Queue


# As long as a name in an audit record may be.
_MAX_NAME_BYTES = 256
# What OAuth itself writes with blanks in between.
_SPACED = frozenset({"scope", "scp"})
_ASSUMED = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([^/]+)/.+")


@dataclass(frozen=True, slots=True)
class Caller:
    """`role` is None for somebody who is known and has none."""

    identity: Identity
    role: Role | None


def caller_of(event: Mapping[str, Any], access: Access) -> Caller:
    authorizer = _mapping(_mapping(event.get("requestContext")).get("authorizer"))
    if access.jwt is None:
        return _by_arn(_mapping(authorizer.get("iam")), access)
    return _by_token(_mapping(_mapping(authorizer.get("jwt")).get("claims")), access, access.jwt, _token_of(event))


def _by_arn(iam: Mapping[str, Any], access: Access) -> Caller:
    arn = iam.get("userArn")
    if not isinstance(arn, str) or not fits(arn, _MAX_NAME_BYTES) or not arn.isprintable():
        raise NotAuthenticatedError("no ARN in the request's authorizer")
    return Caller(KnownIdentity(arn), _highest(access, lambda patterns: _is_one_of(arn, patterns)))


def _by_token(claims: Mapping[str, Any], access: Access, jwt: Jwt, token: Mapping[str, Any]) -> Caller:
    subject = claims.get("sub")
    name = f"jwt:{subject}"
    if not isinstance(subject, str) or not subject or not fits(name, _MAX_NAME_BYTES) or not name.isprintable():
        raise NotAuthenticatedError("no subject in the token's claims")
    # The gateway has checked both; a gateway that was set up otherwise must not let anybody in.
    if claims.get("iss") != jwt.issuer:
        raise NotAuthenticatedError("the token is of another issuer")
    # Cognito's access tokens say client_id instead of aud.
    if not set(_values(claims.get("aud") or claims.get("client_id"))) & set(jwt.audience):
        raise NotAuthenticatedError("the token is for another audience")
    held = set(_held(claims.get(jwt.role_claim), jwt.role_claim, token))
    return Caller(KnownIdentity(name), _highest(access, lambda names: not held.isdisjoint(names)))


def _highest(access: Access, has: Any) -> Role | None:
    return max((role for role in Role if has(access.named(role))), default=None)


def _is_one_of(arn: str, patterns: Iterable[str]) -> bool:
    return any(_is_like(form, pattern) for pattern in patterns for form in _forms(arn))


def _forms(arn: str) -> Iterator[str]:
    """A session is also its role: an account has no two roles of one name, whatever their paths."""
    yield arn
    session = _ASSUMED.fullmatch(arn)
    if session is not None:
        partition, account, role = session.groups()
        yield f"arn:{partition}:iam::{account}:role/{role}"


def _is_like(text: str, pattern: str) -> bool:
    """IAM's own wildcards: `*` for anything, `?` for one character, and nothing else is special."""
    parts = (".*" if each == "*" else "." if each == "?" else re.escape(each) for each in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _held(claim: object, name: str, token: Mapping[str, Any]) -> list[str]:
    """What the caller holds. A text is one value, whatever is in it: `junior admin` is no admin."""
    if name in _SPACED and isinstance(claim, str):
        return claim.split()
    exact = token.get(name)
    # The gateway writes `["junior admin"]` and `["junior", "admin"]` the same. The token that it has checked tells them
    # apart, and is believed as far as it says what the gateway says.
    if isinstance(exact, list) and claim == f"[{' '.join(map(str, exact))}]":
        return [str(each) for each in exact]
    return [exact] if isinstance(exact, str) and exact == claim else _values(claim)


def _values(claim: object) -> list[str]:
    """A claim of one value or of several, as the gateway writes it: a list becomes the text `[a b]`."""
    if isinstance(claim, list):
        return [str(each) for each in claim]
    if not isinstance(claim, str) or not claim:
        return []
    if claim.startswith("[") and claim.endswith("]"):
        return claim[1:-1].replace(",", " ").split()
    return [claim]


def _token_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The claims of the bearer token; nothing if there is none that can be read."""
    headers = {str(name).lower(): value for name, value in _mapping(event.get("headers")).items()}
    body = str(headers.get("authorization", "")).partition(" ")[2].split(".")
    try:
        return _mapping(json.loads(base64.urlsafe_b64decode(f"{body[1]}===")))
    except (IndexError, ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


_VIEWER = """
GET /api/jobs
GET /api/jobs/{job_id}
GET /api/queue
GET /api/job-runs/{run_id}
GET /api/direct-runs/{run_id}
GET /api/dead-letters
GET /api/dead-letters/{job_id}
GET /api/schedules
GET /api/schedules/{name}
GET /api/schedule-preview
GET /api/templates
GET /api/templates/{name}
GET /api/groups
GET /api/groups/{group_id}
GET /api/groups/{group_id}/members
GET /api/control
GET /api/control/types/{job_type}/payload-schema
GET /api/counts
GET /api/last-hour
GET /api/backlog
GET /api/audit
GET /api/openapi.json
"""

_OPERATOR = """
POST /api/jobs
POST /api/jobs/cancel
POST /api/jobs/{job_id}/cancel
POST /api/jobs/{job_id}/retry
POST /api/jobs/{job_id}/run-now
POST /api/jobs/{job_id}/reschedule
POST /api/jobs/{job_id}/priority
POST /api/jobs/{job_id}/move
POST /api/job-runs/{run_id}/retry
POST /api/direct-runs
POST /api/dead-letters/redrive
POST /api/dead-letters/{job_id}/redrive
POST /api/dead-letters/{job_id}/discard
POST /api/schedules/{name}/pause
POST /api/schedules/{name}/resume
POST /api/schedules/{name}/trigger
POST /api/schedules/{name}/backfill
POST /api/groups
POST /api/groups/{group_id}/cancel
POST /api/control/types/{job_type}/pause
POST /api/control/types/{job_type}/resume
"""

# What stops or changes the system for everybody, and what cannot be undone.
_ADMIN = """
POST /api/jobs/{job_id}/purge
POST /api/schedules
PATCH /api/schedules/{name}
DELETE /api/schedules/{name}
POST /api/templates
PATCH /api/templates/{name}
DELETE /api/templates/{name}
POST /api/control/halt
POST /api/control/resume
"""

ROLES: dict[str, Role] = {
    route: role
    for role, routes in ((Role.VIEWER, _VIEWER), (Role.OPERATOR, _OPERATOR), (Role.ADMIN, _ADMIN))
    for route in routes.split("\n")
    if route
}


def role_needed(route: str) -> Role | None:
    """None where nobody may."""
    return ROLES.get(route)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """name: its operationId. answers: per status, the name of a schema in documents.py.

    takes_key: it makes something, and with an Idempotency-Key it makes it once.
    """

    method: str
    path: str
    name: str
    summary: str
    act: Callable[[Call], Answer]
    answers: Mapping[int, str]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    takes_key: bool = False

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def needs_body(self) -> bool:
        """Whether it is refused without one; else an empty body is one that says nothing."""
        return not getattr(self.body, "may_be_left_out", False)

    @property
    def noun(self) -> str:
        return self.path.split("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, authenticated and checked. `services` act in the name of its caller."""

    services: Services
    read: Reader
    queue: Queue
    audit: Auditor
    starter: Starter
    # How long a direct run is waited for before the caller is told to come back.
    patience: timedelta
    path: Mapping[str, str] = field(default_factory=dict)
    query: BaseModel | None = None
    body: BaseModel | None = None
    asked: Asked | None = None


def asked_for[Model: BaseModel](kind: type[Model], value: BaseModel | None) -> Model:
    """The query or body as what the operation says that it takes."""
    assert isinstance(value, kind)
    return value
