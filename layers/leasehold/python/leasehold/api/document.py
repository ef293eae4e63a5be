"""The OpenAPI document, made from the same table and models that requests are checked with."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from leasehold.api import documents
from leasehold.api.answers import JSON, PROBLEM
from leasehold.api.application import OPERATIONS
from leasehold.api.requests import KEY_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from leasehold.api.operations import Operation

    type Schemas = dict[str, Any]

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
_SCHEMA = "#/components/schemas/{model}"
_KEY_HELP = "The same key within 24 hours makes nothing twice"
_KEY = {"description": _KEY_HELP, "type": "string", "pattern": "^[!-~]{1,255}$"}
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
    schemas = _schemas()
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    queries = {operation.query.__name__ for operation in OPERATIONS if operation.query is not None}
    problem = {PROBLEM: {"schema": _reference("Problem")}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Leasehold",
            "description": "What a Leasehold queue holds and does, and how to act on it. See docs/api.md.",
            "version": _version(),
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in schemas.items() if name not in queries},
            "responses": {
                _problem_name(status): {"description": text, "content": problem}
                for status, text in {**_ALWAYS, **_OF_ACTIONS}.items()
            },
            "securitySchemes": _SECURITY,
        },
        "security": [{name: []} for name in _SECURITY],
    }


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


class _WithoutNulls(GenerateJsonSchema):
    """What may be left out is not null."""

    def default_schema(self, schema: Any) -> dict[str, Any]:
        made = super().default_schema(schema)
        return {name: value for name, value in made.items() if name != "default" or value is not None}


def _schemas() -> Schemas:
    """Of all that is taken and answered, by their names."""
    models: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = []
    for each in OPERATIONS:
        models += [(taken, "validation") for taken in (each.query, each.body) if taken is not None]
        models += [(getattr(documents, name), "serialization") for name in each.answers.values()]
    models.append((documents.Problem, "validation"))
    _, made = models_json_schema(models, ref_template=_SCHEMA, schema_generator=_WithoutNulls)
    schemas: Schemas = made["$defs"]
    return schemas


def _described(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    problems = _ALWAYS if operation.body is None else _ALWAYS | _OF_ACTIONS
    answers: dict[int, Any] = {
        status: {"$ref": f"#/components/responses/{_problem_name(status)}"} for status in problems
    }
    for status, name in operation.answers.items():
        text = "Done" if status != 202 else "Accepted: ask for its result later"
        answers[status] = {"description": text, "content": {JSON: {"schema": _reference(name)}}}
    described: dict[str, Any] = {
        "tags": [operation.path.split("/")[2]],
        "summary": operation.summary,
        "description": f"Needs the role {operation.role.label}.",
        "operationId": operation.name,
    }
    if parameters := list(_parameters(operation, schemas)):
        described["parameters"] = parameters
    if operation.body is not None:
        content = {JSON: {"schema": _reference(operation.body.__name__)}}
        described["requestBody"] = {"content": content, "required": operation.needs_body}
    return {**described, "responses": {str(status): answers[status] for status in sorted(answers)}}


def _parameters(operation: Operation, schemas: Schemas) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", operation.path):
        schema = {"type": "string", "description": _PATH_HELP[name]}
        yield {"description": _PATH_HELP[name], "required": True, "schema": schema, "name": name, "in": "path"}
    for name, schema in schemas[operation.query.__name__]["properties"].items() if operation.query else ():
        yield {"required": False, "schema": _without_null(schema), "name": name, "in": "query"}
    if operation.takes_key:
        yield {"description": _KEY_HELP, "required": False, "schema": _KEY, "name": KEY_HEADER, "in": "header"}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _SCHEMA.format(model=name)}


def _problem_name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "")


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """There is no null in a query."""
    options = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "title"}}
    return {**rest, **options[0]} if len(options) == 1 else {**rest, **({"anyOf": options} if options else {})}


def _version() -> str:
    try:
        return version("leasehold")
    except PackageNotFoundError:  # in a Lambda layer, which is a folder and no package
        return "0"
