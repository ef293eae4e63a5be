"""Who calls, and with which role: by ARN patterns or by a token's claim, the highest that fits, none by default."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from leasehold.api.callers import caller_of
from leasehold.aws.api_access import Access, Jwt, Role
from leasehold.kernel.errors import InvalidOptionError
from tests.api.world import ACCOUNT, AUDIENCE, BY_TOKEN, ISSUER, iam, token


def event(authorizer: dict[str, Any]) -> dict[str, Any]:
    return {"requestContext": {"authorizer": authorizer}}


@pytest.mark.parametrize(
    ("pattern", "arn", "fits"),
    [
        ("arn:aws:iam::111122223333:user/ada", "arn:aws:iam::111122223333:user/ada", True),
        ("arn:aws:iam::111122223333:user/ada", "arn:aws:iam::111122223333:user/adam", False),
        ("arn:aws:iam::111122223333:user/ada", "arn:aws:iam::999999999999:user/ada", False),
        ("arn:aws:iam::111122223333:user/team/*", "arn:aws:iam::111122223333:user/team/ada", True),
        ("arn:aws:iam::111122223333:role/Ops", "arn:aws:sts::111122223333:assumed-role/Ops/ada", True),
        ("arn:aws:iam::111122223333:role/Ops", "arn:aws:sts::111122223333:assumed-role/Ops2/ada", False),
        ("arn:aws:iam::111122223333:role/Ops", "arn:aws:sts::999999999999:assumed-role/Ops/ada", False),
        ("arn:aws:iam::111122223333:role/Ops", "arn:aws:sts::111122223333:assumed-role/Other/Ops", False),
        ("arn:aws:sts::111122223333:assumed-role/Ops/ada", "arn:aws:sts::111122223333:assumed-role/Ops/ada", True),
        ("arn:aws:sts::111122223333:assumed-role/Ops/ada", "arn:aws:sts::111122223333:assumed-role/Ops/eve", False),
        ("arn:aws:iam::111122223333:role/Op?", "arn:aws:sts::111122223333:assumed-role/Ops/ada", True),
        ("arn:aws:iam::111122223333:role/O.s", "arn:aws:sts::111122223333:assumed-role/Ops/ada", False),
        ("arn:aws-us-gov:iam::111122223333:role/Ops", "arn:aws-us-gov:sts::111122223333:assumed-role/Ops/a", True),
    ],
)
def test_an_arn_fits_a_pattern_as_iam_reads_it(pattern: str, arn: str, fits: bool) -> None:
    caller = caller_of(event(iam(arn)), Access(roles={"operator": (pattern,)}))

    assert caller.role is (Role.OPERATOR if fits else None)
    assert caller.identity.actor() == arn


def test_the_highest_role_counts() -> None:
    arn = f"arn:aws:iam::{ACCOUNT}:user/ada"
    access = Access(roles={"viewer": (f"arn:aws:iam::{ACCOUNT}:user/*",), "admin": (arn,)})

    assert caller_of(event(iam(arn)), access).role is Role.ADMIN


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("admins", Role.ADMIN),
        ("[viewers operators]", Role.OPERATOR),
        ("[viewers, others]", Role.VIEWER),
        (["viewers", "admins"], Role.ADMIN),
        ("administrators", None),
        ("junior admins", None),
        ("viewers,admins", None),
        ("", None),
        (None, None),
        (7, None),
    ],
    ids=str,
)
def test_a_claim_is_read_as_the_gateway_writes_it(claim: Any, role: Role | None) -> None:
    claims = token()
    claims["jwt"]["claims"]["groups"] = claim

    caller = caller_of(event(claims), BY_TOKEN)

    assert (caller.identity.actor(), caller.role) == ("jwt:ada", role)


def test_an_access_token_says_its_client_instead_of_an_audience() -> None:
    claims = token(groups="viewers", client_id=AUDIENCE)
    del claims["jwt"]["claims"]["aud"]

    assert caller_of(event(claims), BY_TOKEN).role is Role.VIEWER


def test_settings_survive_the_environment() -> None:
    by_arn = Access(roles={"admin": (f"arn:aws:iam::{ACCOUNT}:role/Admins",)})

    assert Access.from_text(by_arn.to_text()) == by_arn
    assert Access.from_text(BY_TOKEN.to_text()) == BY_TOKEN


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"roles": {"root": ()}}, "there is no role 'root'"),
        ({"roles": {"admin": ("*",)}}, r"'\*' is no ARN of a user or role of one account"),
        ({"roles": {"admin": ("arn:aws:iam::*:role/Admins",)}}, "is no ARN"),
        ({"roles": {"admin": ("arn:aws:s3:::bucket",)}}, "is no ARN"),
        ({"roles": {"admin": ("a b",)}, "jwt": Jwt(issuer=ISSUER, audience=("x",))}, "cannot be told from others"),
        ({"jwt": Jwt(issuer="http://insecure.example.com", audience=("x",))}, "an https issuer"),
        ({"jwt": Jwt(issuer=ISSUER, audience=())}, "at least one audience"),
    ],
    ids=str,
)
def test_settings_that_would_let_in_the_wrong_ones_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidOptionError, match=problem):
        Access(**settings)


def bearer(**claims: object) -> dict[str, str]:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return {"authorization": f"Bearer e30.{body}.c2ln"}


@pytest.mark.parametrize(
    ("groups", "role"),
    [(["junior admins"], None), (["junior", "admins"], Role.ADMIN), ("[junior admins]", None)],
    ids=str,
)
def test_a_group_whose_name_has_a_blank_is_told_from_two_groups_by_the_token(groups: Any, role: Role | None) -> None:
    request = event(token(groups="[junior admins]")) | {"headers": bearer(groups=groups)}

    assert caller_of(request, BY_TOKEN).role is role


def test_a_token_that_says_something_else_than_the_gateway_is_not_believed() -> None:
    request = event(token(groups="[viewers]")) | {"headers": bearer(groups=["admins"])}

    assert caller_of(request, BY_TOKEN).role is Role.VIEWER


def test_scopes_are_written_with_blanks_in_between() -> None:
    assert BY_TOKEN.jwt is not None
    access = replace(BY_TOKEN, jwt=replace(BY_TOKEN.jwt, role_claim="scope"))

    assert caller_of(event(token(scope="openid operators")), access).role is Role.OPERATOR
