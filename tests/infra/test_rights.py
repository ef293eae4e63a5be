"""Rights are enough and no more: what each function calls is allowed, and what is allowed is called."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from infra.data_stack import DataStack
from infra.queue_stack import QueueStack
from infra.stages import stage_named
from tests.infra.cloudformation import ACCOUNT, REGION
from tests.infra.deployed_functions import ENQUEUER, POLLER, PUBLISHER, REPORTER, SENDER, TRIGGER
from tests.infra.iam import Call, Role, Statement, allows, roles_of
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, Synthesised, synthesised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.infra.played import Played

pytestmark = pytest.mark.dynoxide

TABLE = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/leasehold-dev-jobs"
HANDLERS = "leasehold-dev-job-"
# What Lambda itself does with a function's role: no code of ours calls it.
_BY_LAMBDA = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


@cache
def granted(grant: str) -> Role:
    """A role of the user's own after e.g. `grant_enqueue`."""
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = stage_named("dev")
    data = DataStack(app, "data", stage=stage)
    queue = QueueStack(app, "queue", stage=stage, data=data, folders=[])
    theirs = Stack(app, "theirs")
    getattr(queue, grant)(iam.Role(theirs, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")))
    ours, given = (dict(Template.from_stack(each).to_json()) for each in (data, theirs))
    (role,) = roles_of(Synthesised(data=ours, queue=given, report={})).values()
    return role


def role_of(actor: str) -> Role:
    return granted("grant_enqueue") if actor == ENQUEUER else roles_of(synthesised("dev"))[actor]


def test_every_kind_of_function_was_called(played: Played) -> None:
    handlers = [actor for actor in played.calls if actor.startswith(HANDLERS)]

    assert {POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER, ENQUEUER} <= played.calls.keys()
    assert len(handlers) > 1


@pytest.mark.parametrize("actor", [POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER, ENQUEUER])
def test_everything_that_is_called_is_allowed(actor: str, played: Played) -> None:
    role = role_of(actor)

    assert [call for call in played.calls[actor] if not role.allowing(call)] == []


def test_everything_that_a_handler_calls_is_allowed(played: Played) -> None:
    refused = [
        (actor, call)
        for actor, calls in played.calls.items()
        if actor.startswith(HANDLERS)
        for call in calls
        if not role_of(actor).allowing(call)
    ]

    assert refused == []


def test_the_poller_may_invoke_whatever_it_invoked(played: Played) -> None:
    functions = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:"
    calls = [Call("lambda:InvokeFunction", f"{functions}{name}") for name in played.invoked]

    assert POLLER in played.invoked
    assert [call for call in calls if not role_of(POLLER).allowing(call)] == []


@pytest.mark.parametrize("actor", [POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER, ENQUEUER])
def test_everything_that_is_allowed_is_called(actor: str, played: Played) -> None:
    """A right that no scenario needs is taken away, or its scenario is missing."""
    assert unused(role_of(actor), played.calls[actor]) == set()


def test_everything_that_handlers_are_allowed_is_called(played: Played) -> None:
    """By some type's handler: seats, for one, are those of types with a limit."""
    actors = [actor for actor in played.calls if actor.startswith(HANDLERS)]

    assert set.intersection(*(unused(role_of(actor), played.calls[actor]) for actor in actors)) == set()


def unused(role: Role, calls: set[Call]) -> set[tuple[str, str]]:
    return {(sid, action) for sid, action, statement in _rights(role) if not _is_used(statement, action, calls)}


def _rights(role: Role) -> Iterator[tuple[str, str, Statement]]:
    for statement in role.statements:
        for action in statement.actions:
            service, _, name = action.partition(":")
            if service == "dynamodb" and name not in _BY_LAMBDA:
                yield statement.sid, action, statement


def _is_used(statement: Statement, action: str, calls: set[Call]) -> bool:
    return any(call.action == action and allows(statement, call) for call in calls)


@pytest.mark.parametrize(
    ("actor", "call"),
    [
        (ENQUEUER, Call("dynamodb:PutItem", TABLE, ("control",))),
        (ENQUEUER, Call("dynamodb:DeleteItem", TABLE, ("job",))),
        (ENQUEUER, Call("dynamodb:Query", TABLE, ("job",))),
        (ENQUEUER, Call("dynamodb:Query", f"{TABLE}/index/due", ("1#0",))),
        (ENQUEUER, Call("dynamodb:BatchWriteItem", TABLE, ("job",))),
        (ENQUEUER, Call("dynamodb:PartiQLInsert", TABLE, ("seat#type:backup",))),
        (f"{HANDLERS}backup", Call("dynamodb:PutItem", TABLE, ("job",))),
        (f"{HANDLERS}backup", Call("dynamodb:UpdateItem", TABLE, ("scheduled-job#daily_summary#u1",))),
        (f"{HANDLERS}backup", Call("dynamodb:DeleteItem", TABLE, ("seat#type:user_sync",))),
        (f"{HANDLERS}backup", Call("dynamodb:UpdateItem", TABLE, ("circuit#backup",))),
        (f"{HANDLERS}user_sync", Call("dynamodb:UpdateItem", TABLE, ("circuit#backup",))),
        (f"{HANDLERS}user_sync", Call("dynamodb:DeleteItem", TABLE, ("control",))),
        (f"{HANDLERS}user_sync", Call("dynamodb:PutItem", TABLE, ("control",))),
        (POLLER, Call("dynamodb:PutItem", TABLE, ("control",))),
        (POLLER, Call("dynamodb:GetItem", TABLE, ("job", "audit#x"))),
        (PUBLISHER, Call("dynamodb:UpdateItem", TABLE, ("job",))),
        (REPORTER, Call("dynamodb:GetItem", TABLE, ("job",))),
        # The sender reads and writes deliveries, and no user's job.
        (SENDER, Call("dynamodb:GetItem", TABLE, ("job",))),
        (SENDER, Call("dynamodb:UpdateItem", TABLE, ("job",))),
        (SENDER, Call("dynamodb:UpdateItem", TABLE, ("job#17",))),
        (SENDER, Call("dynamodb:PutItem", TABLE, ("job#4095",))),
        (SENDER, Call("dynamodb:Query", TABLE, ("job#4095",))),
        (SENDER, Call("dynamodb:UpdateItem", TABLE, ("control",))),
        (SENDER, Call("dynamodb:Query", f"{TABLE}/index/due", ("1#0",))),
        (SENDER, Call("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/leasehold/dev/sentry-dsn")),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{each.action} {'+'.join(each.leading_keys)}",
)
def test_what_a_role_is_not_for_is_refused(actor: str, call: Call) -> None:
    assert role_of(actor).allowing(call) == []
