"""The API on a queue in memory, or on any parts: requests as the gateway passes them on, by whoever the test says."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext, JobType, NewJob, NonRetryableError
from leasehold.api.application import Application
from leasehold.api.callers import caller_of
from leasehold.api.local import event_of
from leasehold.aws.api_access import Access, Jwt
from leasehold.direct_runs.run import perform
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.services import Services

ACCOUNT = "111122223333"
VIEWER, OPERATOR, ADMIN, STRANGER = (
    f"arn:aws:sts::{ACCOUNT}:assumed-role/{name}/session" for name in ("Viewers", "Operators", "Admins", "Others")
)
BY_ARN = Access(
    roles={
        "viewer": (f"arn:aws:iam::{ACCOUNT}:role/Viewers",),
        "operator": (f"arn:aws:iam::{ACCOUNT}:role/Operators",),
        "admin": (f"arn:aws:iam::{ACCOUNT}:role/Admins",),
    }
)
ISSUER, AUDIENCE = "https://issuer.example.com/pool", "console"
BY_TOKEN = Access(
    roles={"viewer": ("viewers",), "operator": ("operators",), "admin": ("admins",)},
    jwt=Jwt(issuer=ISSUER, audience=(AUDIENCE,), role_claim="groups"),
)


class Errand(BaseModel):
    do: str = "answer"


class ErrandHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Errand]:
        return Errand

    def handle(self, payload: Errand, context: JobContext) -> dict[str, str]:
        if payload.do == "fail":
            raise NonRetryableError("not this time")
        return {"done": payload.do}


TYPES = (JobType(name="errand", concurrency=1), JobType(name="report"))


def iam(arn: str) -> dict[str, Any]:
    return {"iam": {"userArn": arn, "accountId": ACCOUNT, "callerId": "AROA:session"}}


def token(**claims: str) -> dict[str, Any]:
    return {"jwt": {"claims": {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, **claims}, "scopes": None}}


@dataclass
class Started:
    """Keeps direct runs for the test to do; does them at once unless it is told to wait."""

    services: Services
    at_once: bool = True
    run_ids: list[str] = field(default_factory=list)

    def start(self, run_id: str) -> None:
        self.run_ids.append(run_id)
        if self.at_once:
            perform(run_id, self.services, worker_id="runner")


@dataclass
class Answered:
    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.body.get("code"))


class Api:
    def __init__(self, services: Services, access: Access = BY_ARN) -> None:
        self.starter = Started(services)
        self.application = Application(
            services=services,
            authenticate=partial(caller_of, access=access),
            start_run=self.starter.start,
            patience=timedelta(seconds=25),
        )

    def send(
        self,
        route: str,
        body: object = None,
        *,
        by: str = ADMIN,
        key: str | None = None,
        query: str = "",
        authorizer: Mapping[str, Any] | None = None,
        raw: bytes | None = None,
        content_type: str = "application/json",
    ) -> Answered:
        """`route` is a method and a path; `body` is sent as JSON, `raw` as it is."""
        method, _, path = route.partition(" ")
        headers = {"x-leasehold-actor": "somebody else"}
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        if sent:
            headers["content-type"] = content_type
        if key is not None:
            headers["idempotency-key"] = key
        event = event_of(method, path, query, headers, sent)
        event["requestContext"]["authorizer"] = iam(by) if authorizer is None else authorizer
        made = self.application.answer(event)
        return Answered(made["statusCode"], made["headers"], json.loads(made["body"]))


def in_memory() -> LeaseholdTest:
    return LeaseholdTest({"errand": ErrandHandler, "report": ErrandHandler}, types=TYPES)


@dataclass(frozen=True)
class Things:
    """One of each thing that a path can name."""

    waiting: str
    completed: str
    dead: str
    group: str


def furnished(test: LeaseholdTest) -> Things:
    queue = test.queue
    completed = queue.enqueue("errand", {"do": "answer"}).job_id
    dead = queue.enqueue("errand", {"do": "fail"}).job_id
    test.drain()
    queue.templates.create("nightly", "report", {"do": "answer"})
    queue.schedules.create("hourly", "report", every=timedelta(hours=1))
    group = queue.groups.create([NewJob(job="report"), NewJob(job="report")]).group_id
    waiting = queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    return Things(waiting=waiting, completed=completed, dead=dead, group=group)


def filled(path: str, things: Things) -> str:
    """A path of the table with names of things that are there."""
    job = things.dead if path.startswith("/api/dead-letters") else things.waiting
    named = "nightly" if path.startswith("/api/templates") else "hourly"
    run = "direct-0" if path.startswith("/api/direct-runs") else f"{things.dead}.1"
    values = {"job_id": job, "run_id": run, "name": named, "group_id": things.group, "job_type": "errand"}
    return path.format(**values)
