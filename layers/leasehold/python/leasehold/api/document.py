"""The OpenAPI document, made by Powertools from the same table and models that requests are checked with."""

from __future__ import annotations

import inspect
import json
import re
from copy import deepcopy
from functools import cache
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Path, Query

from leasehold.api import documents
from leasehold.api.answers import PROBLEM
from leasehold.api.application import OPERATIONS
from leasehold.api.requests import KEY_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.api.operations import Operation

_ALWAYS = {
    400: "The request cannot be read, or a value in it cannot be accepted",
    401: "Nobody knows who calls",
    403: "The caller's role does not suffice",
    404: "There is no such thing",
    429: "Too many requests",
    503: "The store did not answer; try again",
}
_OF_ACTIONS = {
    409: "The state of things does not allow it",
    413: "The body or the payload is too large",
    415: "The body is not JSON",
    422: "Well-formed, but it cannot be done: an unknown job type, a key that was used for another request",
    423: "The system is halted, or the job type is paused",
}
_WITH_PAYLOAD = ("/api/jobs", "/api/direct-runs")
_KEY_HELP = "The same key within 24 hours makes nothing twice"
_KEY_PATTERN = "^[!-~]{1,255}$"
_SECURITY = {
    "sigv4": {
        "type": "apiKey",
        "name": "Authorization",
        "in": "header",
        "x-amazon-apigateway-authtype": "awsSigv4",
        "description": "The default: requests signed with AWS credentials.",
    },
    "jwt": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Where its access says so: a token of its issuer.",
    },
}
_PATH_HELP = {
    "job_id": "A job's id",
    "run_id": "`<job id>.<number>`, or the id of a direct run",
    "name": "Of the schedule or template",
    "group_id": "A group's id",
    "job_type": "A deployed job type",
}


@cache
def openapi_document() -> dict[str, Any]:
    resolver = APIGatewayHttpResolver()
    for operation in OPERATIONS:
        _register(resolver, operation)
    text = resolver.get_openapi_json_schema(
        title="Leasehold",
        version=_version(),
        openapi_version="3.1.0",
        description="What a Leasehold queue holds and does, and how to act on it. See docs/api.md.",
    )
    made: dict[str, Any] = json.loads(text)
    for operation in OPERATIONS:
        _tidy(made["paths"][operation.path][operation.method.lower()], operation)
    made["components"]["schemas"]["Problem"] = documents.Problem.model_json_schema()
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    made["components"]["responses"] = {
        _problem_name(status): {"description": text, "content": content}
        for status, text in {**_ALWAYS, **_OF_ACTIONS}.items()
    }
    made["components"]["securitySchemes"] = _SECURITY
    made["security"] = [{name: []} for name in _SECURITY]
    _drop_unused(made)
    return made


def with_examples(document: dict[str, Any], payloads: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with a request for each of these job types where one names a type and its payload."""
    shown = {
        name: {"summary": f"A job of the type {name}", "value": {"job_type": name, "payload": payload}}
        for name, payload in payloads.items()
    }
    made = deepcopy(document) if shown else document
    for path in _WITH_PAYLOAD if shown else ():
        made["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"] = shown
    return made


def _register(resolver: APIGatewayHttpResolver, operation: Operation) -> None:
    resolver.route(
        re.sub(r"\{(\w+)\}", r"<\1>", operation.path),
        operation.method,
        summary=operation.summary,
        description=f"Needs the role {operation.role.label}.",
        operation_id=operation.name,
        tags=[operation.path.split("/")[2]],
        responses=_answers(operation),  # type: ignore[arg-type]
    )(_described(operation))


def _described(operation: Operation) -> Callable[..., None]:
    """A function whose signature says what the operation takes: that is what Powertools reads."""

    def endpoint() -> None: ...

    names = re.findall(r"\{(\w+)\}", operation.path)
    taken: dict[str, Any] = {name: Annotated[str, Path(description=_PATH_HELP[name])] for name in names}
    if operation.query is not None:
        taken["query"] = Annotated[operation.query, Query()]
    if operation.takes_key:
        taken["key"] = Annotated[str | None, Header(alias=KEY_HEADER, description=_KEY_HELP, pattern=_KEY_PATTERN)]
    if operation.body is not None:
        taken["body"] = Annotated[operation.body, Body()]
    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, kind, annotation=each, default=None if name == "key" else empty)
            for name, each in taken.items()
        ],
        return_annotation=None,
    )
    endpoint.__annotations__ = taken
    return endpoint


def _answers(operation: Operation) -> dict[int, dict[str, Any]]:
    return {
        status: {
            "description": "Done" if status != 202 else "Accepted: ask for its result later",
            "content": {"application/json": {"model": getattr(documents, name)}},
        }
        for status, name in operation.answers.items()
    }


def _tidy(described: dict[str, Any], operation: Operation) -> None:
    """Powertools knows a query's names, and its model knows the rest."""
    problems = _ALWAYS if operation.body is None else _ALWAYS | _OF_ACTIONS
    told = {status: {"$ref": f"#/components/responses/{_problem_name(status)}"} for status in problems}
    told |= {status: described["responses"][str(status)] for status in operation.answers}
    described["responses"] = {str(status): told[status] for status in sorted(told)}
    if operation.body is not None:
        described["requestBody"]["required"] = operation.needs_body
    template = "#/components/schemas/{model}"
    taken = operation.query.model_json_schema(ref_template=template)["properties"] if operation.query else {}
    for parameter in described.get("parameters", []):
        known = taken if parameter["in"] == "query" else {}
        parameter["schema"] = _without_null(known.get(parameter["name"], parameter["schema"]))
        parameter["required"] = parameter["in"] == "path"


def _problem_name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "")


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What may be left out is not null: there is no null in a query or a header."""
    options = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "title"}}
    if rest.get("default", "") is None:
        del rest["default"]
    return {**rest, **options[0]} if len(options) == 1 else {**rest, **({"anyOf": options} if options else {})}


def _drop_unused(made: dict[str, Any]) -> None:
    """Powertools brings its own errors along, which this API does not answer with."""
    schemas = made["components"]["schemas"]
    while True:
        text = json.dumps(made)
        unused = [name for name in schemas if f'"#/components/schemas/{name}"' not in text]
        if not unused:
            return
        for name in unused:
            del schemas[name]


def _version() -> str:
    try:
        return version("leasehold")
    except PackageNotFoundError:  # in a Lambda layer, which is a folder and no package
        return "0"
