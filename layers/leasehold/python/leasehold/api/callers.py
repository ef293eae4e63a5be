"""Who calls, as the gateway's authorizer says: never what a header or a body says of itself."""

from __future__ import annotations

import base64
import json
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from leasehold.api.errors import NotAuthenticatedError
from leasehold.audit.records import fits
from leasehold.aws.api_access import Role
from leasehold.kernel.ports import KnownIdentity
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leasehold.aws.api_access import Access, Jwt
    from leasehold.kernel.ports import Identity


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
    """By IAM's own wildcards: `*` for anything, `?` for one character; nothing else in a pattern is special."""
    return any(fnmatchcase(form, pattern) for pattern in patterns for form in _forms(arn))


def _forms(arn: str) -> Iterator[str]:
    """A session is also its role: an account has no two roles of one name, whatever their paths."""
    yield arn
    session = _ASSUMED.fullmatch(arn)
    if session is not None:
        partition, account, role = session.groups()
        yield f"arn:{partition}:iam::{account}:role/{role}"


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
