"""The gateway of the HTTP API and its two functions: who is let in, how fast, and what they may do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from app import ROOT
from infra.environments import ENVIRONMENTS, Environment
from leasehold.aws import names as variables
from leasehold.aws.api_access import Access, Jwt
from leasehold.cdk import ApiOptions
from leasehold.cdk.api import ACCESS_LOG
from leasehold.job_folders.folder import load_job_folder
from tests.infra.api_scenes import API, GUARDED, LIMITED, PLAIN, RUNNER, Scenes
from tests.infra.cloudformation import ACCOUNT, REGION
from tests.infra.iam import Call, Role, roles_of
from tests.infra.synthesised import Synthesised, stacks_of
from tests.infra.synthesised import templates_of as made_of
from tests.infra.test_rights import unused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

SIGNED = Access(roles={"admin": ("arn:aws:iam::111122223333:role/Admins",)})
BY_TOKEN = Access(
    roles={"viewer": ("viewers",)}, jwt=Jwt(issuer="https://issuer.example.com/pool", audience=("console", "cli"))
)
FOLDERS = [load_job_folder(ROOT, name) for name in (PLAIN, LIMITED, GUARDED)]
TABLE = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/leasehold-dev-jobs"
FUNCTIONS = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:leasehold-dev-"


def templates_of(api: ApiOptions | None, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    data, queue = made_of(Environment(name="dev", props={"api": api, **settings}), FOLDERS)
    return dict(data.to_json()), dict(queue.to_json())


@pytest.fixture(scope="module")
def signed() -> tuple[dict[str, Any], dict[str, Any]]:
    return templates_of(ApiOptions(access=SIGNED, rate_limit=7, burst_limit=9))


@pytest.fixture(scope="module")
def roles(signed: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Role]:
    data, queue = signed
    return roles_of(Synthesised(data=data, queue=queue, report={}))


def only(template: Mapping[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [each["Properties"] for each in template["Resources"].values() if each["Type"] == kind]
    return dict(found)


def routes_of(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each["Properties"] for each in template["Resources"].values() if each["Type"].endswith("V2::Route")]


def function(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = [
        each["Properties"]
        for each in template["Resources"].values()
        if each["Type"] == "AWS::Lambda::Function" and each["Properties"]["FunctionName"] == f"leasehold-dev-{name}"
    ]
    return dict(found)


def test_there_is_no_api_unless_a_stage_asks_for_it() -> None:
    _, queue = templates_of(None)

    assert not [each for each in queue["Resources"].values() if each["Type"].startswith("AWS::ApiGateway")]
    assert [stage.name for stage in ENVIRONMENTS if "api" in stage.props] == ["local"]


def test_every_request_is_signed_unless_the_stage_says_otherwise(
    signed: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    routes = routes_of(signed[1])

    assert "ANY /api/{proxy+}" in {each["RouteKey"] for each in routes}
    assert {each["AuthorizationType"] for each in routes} == {"AWS_IAM"}


def test_tokens_are_checked_by_the_gateway_where_the_stage_says_so() -> None:
    _, queue = templates_of(ApiOptions(access=BY_TOKEN))

    authorizer = only(queue, "AWS::ApiGatewayV2::Authorizer")
    assert {each["AuthorizationType"] for each in routes_of(queue)} == {authorizer["AuthorizerType"]} == {"JWT"}
    assert authorizer["JwtConfiguration"] == {
        "Issuer": "https://issuer.example.com/pool",
        "Audience": ["console", "cli"],
    }
    environment = function(queue, "api")["Environment"]["Variables"]
    assert Access.from_text(environment[variables.API_ACCESS]) == BY_TOKEN


def test_the_gateway_throttles_and_logs_who_called_but_not_what_they_sent(
    signed: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    stage = only(signed[1], "AWS::ApiGatewayV2::Stage")

    limits = stage["DefaultRouteSettings"]
    assert (limits["ThrottlingRateLimit"], limits["ThrottlingBurstLimit"]) == (7, 9)
    assert json.loads(stage["AccessLogSettings"]["Format"]) == ACCESS_LOG
    assert not {"query", "body", "queryString"} & {name for each in ACCESS_LOG.values() for name in each.split(".")}


def test_who_halts_the_system_is_not_kept_out_by_all_the_others(
    signed: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    stage = only(signed[1], "AWS::ApiGatewayV2::Stage")
    routes = routes_of(signed[1])

    for route in ("POST /api/control/halt", "POST /api/control/resume"):
        assert stage["RouteSettings"][route] == {"ThrottlingRateLimit": 5, "ThrottlingBurstLimit": 10}
    assert {each["RouteKey"] for each in routes} == {"ANY /api/{proxy+}", *stage["RouteSettings"]}
    assert {each["AuthorizationType"] for each in routes} == {"AWS_IAM"}


def test_nobody_else_is_let_in_by_cors(signed: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert "CorsConfiguration" not in only(signed[1], "AWS::ApiGatewayV2::Api")


def test_the_function_answers_within_the_gateways_patience_and_the_runner_takes_all_the_time_there_is(
    signed: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    assert function(signed[1], "api")["Timeout"] == 29
    assert function(signed[1], "direct-runner")["Timeout"] == 900
    assert only(signed[1], "AWS::ApiGatewayV2::Integration")["PayloadFormatVersion"] == "2.0"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"rate_limit": 0}, "nothing would get through"),
        (
            {"access": Access(roles={"admin": (*(f"arn:aws:iam::111122223333:role/{n:060d}" for n in range(40)),)})},
            "more than a function's environment",
        ),
    ],
    ids=["rate", "size"],
)
def test_a_setting_that_cannot_work_says_so(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        stacks_of(Environment(name="dev", props={"api": ApiOptions(**settings)}), [])


@pytest.fixture(scope="module")
def played(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> dict[str, set[Call]]:
    """What both functions called, as if it were on the deployed tables."""
    scenes = Scenes(make_client(dynoxide_endpoint))
    scenes.play()
    names = scenes.real.names
    return {
        who: {
            replace(
                call,
                resource=call.resource.replace(names.jobs, "leasehold-dev-jobs").replace(
                    names.dead_letters, "leasehold-dev-dead-letters"
                ),
            )
            for call in scenes.calls.by_actor[who]
        }
        for who in (API, RUNNER)
    }


@pytest.mark.dynoxide
@pytest.mark.parametrize(("who", "name"), [(API, "leasehold-dev-api"), (RUNNER, "leasehold-dev-direct-runner")])
def test_what_they_call_is_allowed_and_what_is_allowed_is_called(
    who: str, name: str, roles: dict[str, Role], played: dict[str, set[Call]]
) -> None:
    role = roles[name]

    assert [call for call in played[who] if not role.allowing(call)] == []
    assert unused(role, played[who]) == set()


@pytest.mark.parametrize(
    "call",
    [
        Call("dynamodb:UpdateItem", TABLE, ("audit#job#1",)),
        Call("dynamodb:DeleteItem", TABLE, ("audit#job#1",)),
        Call("dynamodb:DeleteItem", TABLE, ("audit-head#job",)),
        Call("dynamodb:DeleteItem", TABLE, ("job",)),
        Call("dynamodb:PutItem", TABLE, ("seat#type:backup",)),
        Call("dynamodb:UpdateItem", TABLE, ("direct-run#1",)),
        Call("dynamodb:Scan", TABLE),
        Call("lambda:InvokeFunction", f"{FUNCTIONS}job-backup"),
        Call("lambda:InvokeFunction", f"{FUNCTIONS}poller"),
    ],
    ids=lambda call: f"{call.action} {call.resource.rpartition(':')[2]} {call.leading_keys}",
)
def test_the_api_may_not(call: Call, roles: dict[str, Role]) -> None:
    assert roles["leasehold-dev-api"].allowing(call) == []


def test_the_api_starts_the_runner_and_the_runner_calls_handlers(roles: dict[str, Role]) -> None:
    api, runner = roles["leasehold-dev-api"], roles["leasehold-dev-direct-runner"]

    assert api.allowing(Call("lambda:InvokeFunction", f"{FUNCTIONS}direct-runner"))
    assert runner.allowing(Call("lambda:InvokeFunction", f"{FUNCTIONS}job-backup"))
    assert not runner.allowing(Call("lambda:InvokeFunction", f"{FUNCTIONS}poller"))
    assert not runner.allowing(Call("dynamodb:PutItem", TABLE, ("job",)))
