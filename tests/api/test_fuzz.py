"""The API under fire from its own description: schemathesis draws requests, good and bad, and none may end in a 5xx."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from leasehold.api.application import OPERATIONS
from leasehold.api.document import openapi_document
from leasehold.api.local import event_of
from tests.api.world import ADMIN, Api, Things, furnished, iam, in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hypothesis.strategies import SearchStrategy
    from schemathesis import APIOperation, Case, HookContext

pytestmark = pytest.mark.slow

EXAMPLES = 15


class Served:
    """A fresh queue per operation, furnished with one of each thing, behind WSGI."""

    def __init__(self) -> None:
        self.apis: dict[str, tuple[Api, Things]] = {}
        self.statuses: Counter[int] = Counter()
        self.operations: set[str] = set()

    def world(self, operation: str) -> tuple[Api, Things]:
        self.operations.add(operation)
        if operation not in self.apis:
            test = in_memory()
            things = furnished(test)
            self.apis = {operation: (Api(test.services), things)}
        return self.apis[operation]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        api, _ = next(iter(self.apis.values()))
        headers = {name[5:].lower().replace("_", "-"): value for name, value in environ.items() if name[:5] == "HTTP_"}
        if environ.get("CONTENT_TYPE"):
            headers["content-type"] = environ["CONTENT_TYPE"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        method, query = environ["REQUEST_METHOD"], environ["QUERY_STRING"]
        event = event_of(method, path, query, headers, body)
        event["requestContext"]["authorizer"] = iam(ADMIN)
        # Unquoted already by the server.
        event["rawPath"] = event["requestContext"]["http"]["path"] = path
        made = api.application.answer(event)
        self.statuses[made["statusCode"]] += 1
        status = HTTPStatus(made["statusCode"])
        start_response(f"{status.value} {status.phrase}", list(made["headers"].items()))
        return [made["body"].encode()]


served = Served()
schema = schemathesis.openapi.from_dict(openapi_document(), config=SchemathesisConfig())
schema.app = served


@schema.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Most things that a path names are there: drawn names would only ever be missing."""
    assert context.operation is not None
    if not path_parameters or str(next(iter(path_parameters.values()), "")) < "M":
        return path_parameters
    _, things = served.world(context.operation.label)
    job = things.dead if context.operation.path.startswith("/api/dead-letters") else things.waiting
    name = "nightly" if context.operation.path.startswith("/api/templates") else "hourly"
    known = {
        "job_id": job,
        "run_id": f"{things.dead}.1",
        "name": name,
        "group_id": things.group,
        "job_type": "errand",
    }
    return {each: known[each] for each in path_parameters}


@schema.hook
def map_body(context: HookContext, body: Any) -> Any:
    """Half of the bodies name what is there, or nothing would ever be made."""
    if not isinstance(body, dict) or len(str(body)) % 2:
        return body
    known: dict[str, Any] = {"job_type": "errand", "name": "new", "cron": "0 9 * * *", "timezone": "Europe/Berlin"}
    wanted = {name: known.get(name, value) for name, value in body.items()}
    for name in ("template", "webhook", "remove", "every"):
        wanted.pop(name, None)
    return wanted


def drawn(operation: APIOperation[Any, Any, Any, Any]) -> SearchStrategy[Case[Any]]:
    """As described, and just not; of an operation that takes nothing, only the former can be drawn."""
    takes_something = operation.query or operation.path_parameters or operation.headers or operation.body
    modes = list(GenerationMode) if takes_something else [GenerationMode.POSITIVE]
    return one_of([operation.as_strategy(generation_mode=mode) for mode in modes])


# Not `schema.parametrize`: it gives all operations one node id, of which xdist would run one.
@pytest.mark.parametrize("route", [operation.route for operation in OPERATIONS])
def test_no_request_ends_in_a_5xx_and_every_answer_is_as_described(route: str) -> None:
    method, _, path = route.partition(" ")
    operation = schema[path][method]
    served.world(operation.label)

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=drawn(operation))
    def hold(case: Case[Any]) -> None:
        case.call_and_validate(checks=[not_a_server_error, status_code_conformance, response_schema_conformance])

    hold()


def test_the_requests_were_of_all_kinds() -> None:
    """A fuzz run that is refused at the door shows nothing."""
    if len(served.operations) < len(OPERATIONS):
        pytest.skip("other processes sent the rest: this counts with --dist loadgroup, or without -n")
    answered = served.statuses
    assert sum(answered.values()) > EXAMPLES * 2 // 3 * len(OPERATIONS), answered
    assert answered.get(200, 0) + answered.get(201, 0) > EXAMPLES * 10, answered
    assert {400, 404, 409, 422} <= set(answered), answered
