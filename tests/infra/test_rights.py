"""Rights are enough and no more: what each function calls is allowed, and what is allowed is called."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from app import job_folders
from infra.environments import environment_named
from infra.stacks import DataStack, QueueStack
from leasehold.kernel.keys import JobPartition, make_job_id, type_code
from leasehold.kernel.transitions import TRANSITIONS, Transition, Writer
from tests.infra.cloudformation import ACCOUNT, REGION, with_names
from tests.infra.deployed_functions import (
    ENQUEUER,
    PLAIN_ENQUEUER,
    POLLER,
    PUBLISHER,
    REPORTER,
    SENDER,
    TRIGGER,
    invoke_of,
)
from tests.infra.iam import Call, Role, Statement, allows, roles_of
from tests.infra.simulator import allowed
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, Synthesised, synthesised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.infra.played import Played

pytestmark = pytest.mark.dynoxide

TABLE = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/leasehold-dev-jobs"
HANDLERS = "leasehold-dev-job-"
# What Lambda itself does with a function's role: no code of ours calls it.
# An end with items of a table of the team's own, which no scene has; the simulator is asked about it by name.
_WITH_ITEMS = {"EndJobsWithItems"}
_BY_LAMBDA = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


TYPES = ("daily_summary", "backup", "user_sync")
# What a program that makes jobs in every way is given; each takes types, or none.
OF_AN_ENQUEUER = ("grant_enqueue", "grant_deduplicate", "grant_create_groups", "grant_read_templates")
BY_TYPE = {"grant_enqueue", "grant_deduplicate", "grant_create_groups", "grant_record_creation"}


@cache
def granted(*grants: str, types: tuple[str, ...] = TYPES) -> Role:
    """A role of the user's own after e.g. `grant_enqueue`."""
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = environment_named("dev")
    data = DataStack(app, "data", environment=stage)
    queue = QueueStack(app, "queue", environment=stage, data=data, folders=job_folders(stage))
    theirs = Stack(app, "theirs")
    role = iam.Role(theirs, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    for grant in grants:
        getattr(queue.queue, grant)(role, *(types if grant in BY_TYPE else ())).assert_success()
    ours, given = (with_names(dict(Template.from_stack(each).to_json()), "dev") for each in (data, theirs))
    (made,) = roles_of(Synthesised(data=ours, queue=given, report={})).values()
    return made


def role_of(actor: str) -> Role:
    return granted(*OF_AN_ENQUEUER) if actor == ENQUEUER else roles_of(synthesised("dev"))[actor]


def partition(job_type: str) -> str:
    return JobPartition(type_code(job_type)).name


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


def test_the_poller_is_invoked_by_itself_and_by_handlers_that_free_seats(played: Played) -> None:
    """Whether they may is decided with all that they call; others have neither the right nor the reason."""
    wake = invoke_of(POLLER)

    assert {actor for actor, calls in played.calls.items() if wake in calls} == {
        POLLER,
        f"{HANDLERS}backup",
        f"{HANDLERS}user_sync",
    }
    assert role_of(f"{HANDLERS}daily_summary").allowing(wake) == []


@pytest.mark.parametrize("actor", [POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER, ENQUEUER])
def test_everything_that_is_allowed_is_called(actor: str, played: Played) -> None:
    """A right that no scenario needs is taken away, or its scenario is missing."""
    assert unused(role_of(actor), played.calls[actor]) == set()


def test_everything_that_handlers_are_allowed_is_called(played: Played) -> None:
    """By some type's handler: seats, for one, are those of types with a limit."""
    actors = [actor for actor in played.calls if actor.startswith(HANDLERS)]

    assert set.intersection(*(unused(role_of(actor), played.calls[actor]) for actor in actors)) == set()


def unused(role: Role, calls: set[Call]) -> set[tuple[str, str]]:
    return {
        (sid, action)
        for sid, action, statement in _rights(role)
        if sid not in _WITH_ITEMS and not _is_used(statement, action, calls)
    }


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
        (SENDER, Call("dynamodb:UpdateItem", TABLE, (partition("backup"),))),
        (SENDER, Call("dynamodb:PutItem", TABLE, ("system#0",))),
        (SENDER, Call("dynamodb:Query", TABLE, ("system#0",))),
        (SENDER, Call("dynamodb:UpdateItem", TABLE, ("control",))),
        (SENDER, Call("dynamodb:Query", f"{TABLE}/index/due", ("1#0",))),
        (SENDER, Call("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/leasehold/dev/sentry-dsn")),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{each.action} {'+'.join(each.leading_keys)}",
)
def test_what_a_role_is_not_for_is_refused(actor: str, call: Call) -> None:
    assert role_of(actor).allowing(call) == []


PLAINLY = Call("dynamodb:PartiQLInsert", TABLE, (partition("backup"),))


def test_who_may_enqueue_inserts_jobs_of_its_types_and_can_do_nothing_else() -> None:
    role = granted("grant_enqueue")
    own, other = partition("backup"), partition("referral_timeout")

    assert role.allowing(PLAINLY)
    writes = ("PutItem", "UpdateItem", "DeleteItem", "PartiQLUpdate", "PartiQLDelete", "BatchWriteItem")
    for action in (*writes, "GetItem", "BatchGetItem", "Query", "Scan", "PartiQLSelect"):
        for place in (own, other, "job", "system#0", "group#x", "scheduled-job#backup#x", "audit-head", "schedule"):
            assert role.allowing(Call(f"dynamodb:{action}", TABLE, (place,))) == []
    others = "scheduled-job#referral_timeout#x"
    for place in (other, "job", "system#0", "control", "group#x", others, "seat#all", "audit#job#x"):
        assert role.allowing(Call("dynamodb:PartiQLInsert", TABLE, (place,))) == []
    # A dedup key that nobody has had is taken by an insert, too.
    assert role.allowing(Call("dynamodb:PartiQLInsert", TABLE, ("scheduled-job#backup#x",)))
    # A call that names no key at all is like every pattern, but for the second condition.
    assert role.allowing(Call("dynamodb:PartiQLInsert", TABLE)) == []


def test_a_plain_enqueue_needs_no_more_than_that(played: Played) -> None:
    role = granted("grant_enqueue")

    assert played.calls[PLAIN_ENQUEUER]
    assert [call for call in played.calls[PLAIN_ENQUEUER] if not role.allowing(call)] == []
    assert unused(role, played.calls[PLAIN_ENQUEUER]) == set()


def test_a_handler_reaches_its_own_type_only() -> None:
    role = role_of(f"{HANDLERS}backup")
    at = datetime(2026, 11, 15, tzinfo=UTC)
    own, other = (make_job_id(at, JobPartition(type_code(each)), 7) for each in ("backup", "daily_summary"))
    dead_letters = TABLE.replace("-jobs", "-dead-letters")

    for action, table, places in (
        ("GetItem", TABLE, (partition("{}"), "payload#{}")),
        ("UpdateItem", TABLE, (partition("{}"),)),
        ("PartiQLInsert", dead_letters, ("{}",)),
    ):
        for place in places:
            mine = partition("backup") if place.startswith("job#") else place.format(own)
            theirs = partition("daily_summary") if place.startswith("job#") else place.format(other)
            assert role.allowing(Call(f"dynamodb:{action}", table, (mine,)))
            assert role.allowing(Call(f"dynamodb:{action}", table, (theirs,))) == []
            # Nor both together, as a batch would ask for them.
            assert role.allowing(Call(f"dynamodb:{action}", table, (mine, theirs))) == []


@pytest.mark.parametrize("action", ["UpdateItem", "PartiQLUpdate"])
@pytest.mark.parametrize(("actor", "place"), [(f"{HANDLERS}backup", partition("backup")), (SENDER, "system#0")])
@pytest.mark.parametrize("name", ["job_type", "created_by", "payload", "webhook", "group_id"])
def test_who_runs_a_job_changes_how_it_gets_on_and_not_what_it_is(
    actor: str, place: str, action: str, name: str
) -> None:
    asked = [Call(f"dynamodb:{action}", TABLE, (place,), ("PK", "SK", "status", each)) for each in ("result", name)]

    assert [bool(role_of(actor).allowing(each)) for each in asked] == [True, False]
    assert allowed([(role_of(actor), each) for each in asked]) == [True, False]


@pytest.mark.parametrize(
    "step", [each for each in TRANSITIONS if Writer.HANDLER in each.by], ids=lambda each: each.name
)
def test_every_transition_of_a_handler_is_one_that_it_may_make(step: Transition) -> None:
    named = {"PK", "SK", "status", *step.sets, *step.may_set, *step.removes, *(name for name, _ in step.adds)}

    for action in ("UpdateItem", "PartiQLUpdate"):
        call = Call(f"dynamodb:{action}", TABLE, (partition("backup"),), tuple(sorted(named)))
        assert role_of(f"{HANDLERS}backup").allowing(call)


def test_all_grants_fit_onto_one_role_and_none_is_given_without_its_types() -> None:
    role = granted(*OF_AN_ENQUEUER, "grant_record_creation", "grant_manage_schedules", "grant_manage_templates")
    assert {statement.sid for statement in role.statements} == {""}

    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    data = DataStack(app, "data", environment=environment_named("dev"))
    queue = QueueStack(app, "queue", environment=environment_named("dev"), data=data, folders=[])
    with pytest.raises(ValueError, match="grant_enqueue: it is given by job type, and none is named"):
        queue.queue.grant_enqueue(iam.Role(queue, "R", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")))
