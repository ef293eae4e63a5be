"""Who may use the HTTP API: how callers are known, and which of them has which role. Nobody has one by default."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, field
from enum import IntEnum
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The account is written out: a pattern that matches other people's accounts is never meant.
_ARN_PATTERN = re.compile(r"arn:aws[a-z-]*:(iam|sts)::\d{12}:[A-Za-z0-9+=,.@_/*?-]+")
_VALUE = re.compile(r"[^\s,\[\]]+")


class Role(IntEnum):
    """Each may do all that those before it may."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Jwt:
    """issuer, audience: what a token must say. role_claim: the claim whose values are mapped to roles."""

    issuer: str
    audience: tuple[str, ...]
    role_claim: str = "cognito:groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """roles: per role, who has it: ARNs with IAM's wildcards `*` and `?`, or with `jwt` the values of its claim.

    A role's ARN stands for all of its sessions.
    """

    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    jwt: Jwt | None = None

    def __post_init__(self) -> None:
        problems = list(self.problems())
        if problems:
            raise InvalidOptionError(dict(self.roles), problems[0], "Correct `api` of the JobQueue.")

    def problems(self) -> Iterator[str]:
        known = {role.label for role in Role}
        for label, names in self.roles.items():
            if label not in known:
                yield f"there is no role {label!r} (there are {', '.join(sorted(known))})"
            for name in names:
                if self.jwt is None and not _ARN_PATTERN.fullmatch(name):
                    yield f"{name!r} is no ARN of a user or role of one account"
                if self.jwt is not None and not _VALUE.fullmatch(name):
                    yield f"{name!r} cannot be told from others in a claim: it has spaces, commas or brackets"
        if self.jwt is not None and not (self.jwt.issuer.startswith("https://") and self.jwt.audience):
            yield "a token is checked by an https issuer and at least one audience"

    def named(self, role: Role) -> tuple[str, ...]:
        return tuple(self.roles.get(role.label, ()))

    def to_text(self) -> str:
        """As the function finds it in its environment."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Access:
        document = json.loads(text)
        jwt = document.get("jwt")
        return cls(
            roles={label: tuple(names) for label, names in document["roles"].items()},
            jwt=None if jwt is None else Jwt(**{**jwt, "audience": tuple(jwt["audience"])}),
        )
