"""Every route, for every role and every way of being known: who may use it does, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.api.application import OPERATIONS
from leasehold.aws.api_access import Role
from tests.api.world import (
    ADMIN,
    BY_ARN,
    BY_TOKEN,
    OPERATOR,
    STRANGER,
    VIEWER,
    Api,
    filled,
    furnished,
    iam,
    in_memory,
    token,
)

ROUTES = [operation.route for operation in OPERATIONS]
ROLES = {operation.route: operation.role for operation in OPERATIONS}
HELD = {None: STRANGER, Role.VIEWER: VIEWER, Role.OPERATOR: OPERATOR, Role.ADMIN: ADMIN}
GROUPS = {None: "others", Role.VIEWER: "viewers", Role.OPERATOR: "operators", Role.ADMIN: "admins"}

# Ways in which nobody is known, whatever the request says of itself.
UNKNOWN_BY_ARN: dict[str, Any] = {
    "no authorizer": {},
    "no ARN": {"iam": {"accountId": "111122223333"}},
    "an empty ARN": iam(""),
    "an ARN that is no text": {"iam": {"userArn": ["arn"]}},
    "an ARN with a line break": iam(f"{ADMIN}\nx"),
    "a token where requests are signed": token(groups="admins"),
    "a Lambda authorizer": {"lambda": {"userArn": ADMIN, "role": "admin"}},
}
UNKNOWN_BY_TOKEN: dict[str, Any] = {
    "no authorizer": {},
    "no subject": token(groups="admins", sub=""),
    "another issuer": token(groups="admins", iss="https://evil.example.com/pool"),
    "another audience": token(groups="admins", aud="other"),
    "a signature where tokens are asked for": iam(ADMIN),
}


def test_every_route_is_there_once() -> None:
    assert len(set(ROUTES)) == len(ROUTES)


def test_who_reads_is_a_viewer_and_who_changes_something_is_not() -> None:
    for route, role in ROLES.items():
        assert (role is Role.VIEWER) == route.startswith("GET "), route


@pytest.fixture(scope="module")
def apis() -> dict[str, Api]:
    test = in_memory()
    return {"arn": Api(test.services, BY_ARN), "token": Api(test.services, BY_TOKEN)}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("held", HELD, ids=str)
@pytest.mark.parametrize("kind", ["arn", "token"])
def test_a_role_may_use_what_it_suffices_for_and_nothing_else(
    route: str, held: Role | None, kind: str, apis: dict[str, Api]
) -> None:
    """Nothing is there: who is let in gets the mistake in the request as an answer, who is not gets nothing."""
    method, _, path = route.partition(" ")
    job = "019b76da-a800-8000-8297-4bcd6baa9455"
    named = path.format(job_id=job, run_id=f"{job}.1", name="none", group_id="none", job_type="none")
    authorizer = iam(HELD[held]) if kind == "arn" else token(groups=GROUPS[held])
    body: dict[str, str] | None = None if method == "GET" else {"nothing": "of the kind"}

    answer = apis[kind].send(f"{method} {named}", body, authorizer=authorizer)

    if held is not None and held >= ROLES[route]:
        assert answer.status in {200, 400, 404}
    else:
        assert (answer.status, answer.code) == (403, "not_allowed")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("kind", "authorizer"),
    [
        *(pytest.param("arn", each, id=f"signed: {name}") for name, each in UNKNOWN_BY_ARN.items()),
        *(pytest.param("token", each, id=f"token: {name}") for name, each in UNKNOWN_BY_TOKEN.items()),
    ],
)
def test_whom_nobody_knows_is_let_in_nowhere(
    route: str, kind: str, authorizer: dict[str, Any], apis: dict[str, Api]
) -> None:
    answer = apis[kind].send(route, {"reason": "let me in"}, authorizer=authorizer)

    assert (answer.status, answer.code) == (401, "not_authenticated")


@pytest.mark.parametrize("route", ["GET /", "GET /api", "GET /api/nothing", "DELETE /api/jobs", "PUT /api/jobs/1"])
def test_strangers_are_not_even_told_what_there_is(route: str, apis: dict[str, Api]) -> None:
    assert apis["arn"].send(route, authorizer={}).status == 401
    assert apis["arn"].send(route, by=STRANGER).status == 403
    assert apis["arn"].send(route, by=VIEWER).status in {404, 405}


def test_whoever_acts_is_who_the_authorizer_says_and_nobody_else() -> None:
    test = in_memory()
    things = furnished(test)
    api = Api(test.services)

    api.send(f"POST {filled('/api/jobs/{job_id}/cancel', things)}", {"reason": "not wanted"}, by=OPERATOR)
    named = api.send("POST /api/jobs", {"job_type": "report", "created_by": ADMIN, "reason": "x"}, by=OPERATOR)
    made = api.send("POST /api/jobs", {"job_type": "report", "reason": "x"}, by=OPERATOR)

    (audit_entry,) = api.send("GET /api/audit", query=f"target=job%23{things.waiting}").body["items"]
    assert (audit_entry["by"], audit_entry["action"], audit_entry["reason"]) == (OPERATOR, "cancel", "not wanted")
    assert named.status == 400
    assert test.queue.get(made.body["job_id"]).created_by == OPERATOR
