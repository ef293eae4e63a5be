"""The description that is checked in is the one that the code makes; programs are generated from it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from leasehold.api.application import OPERATIONS
from leasehold.api.document import openapi_document
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from tests.api.world import Api, in_memory

ROOT = Path(__file__).parent.parent.parent


def test_the_description_in_docs_is_up_to_date() -> None:
    kept = json.loads((ROOT / "docs" / "openapi.json").read_text())

    assert kept == openapi_document(), "the API has changed: run docs/generate.py and review the difference"


def test_every_operation_is_described_and_nothing_else() -> None:
    paths = openapi_document()["paths"]
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

    assert described == {operation.route for operation in OPERATIONS}


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation.name for operation in OPERATIONS]

    assert len(set(names)) == len(names)


def test_bodies_refuse_unknown_fields() -> None:
    document = openapi_document()
    bodies = {
        each["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for methods in document["paths"].values()
        for each in methods.values()
        if "requestBody" in each
    }

    assert bodies
    assert all(document["components"]["schemas"][name]["additionalProperties"] is False for name in bodies)


def test_what_makes_something_takes_a_key() -> None:
    keyed = {operation.route for operation in OPERATIONS if operation.takes_key}

    assert keyed == {
        "POST /api/jobs",
        "POST /api/jobs/{job_id}/retry",
        "POST /api/job-runs/{run_id}/retry",
        "POST /api/direct-runs",
        "POST /api/dead-letters/redrive",
        "POST /api/dead-letters/{job_id}/redrive",
        "POST /api/groups",
    }


def test_answering_does_not_load_what_only_the_description_needs() -> None:
    """It would double the cold start."""
    script = (
        "import sys; from leasehold.api.application import Application;"
        "print([n for n in sys.modules if n.startswith('aws_lambda_powertools.event_handler.openapi.models')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50)

    assert done.stdout.strip() == "[]"


class Invoice(BaseModel):
    customer: str
    cents: Annotated[int, Field(gt=0)]


def test_the_description_has_an_example_of_each_payload_which_is_taken_as_it_is() -> None:
    test, shape = in_memory(), shape_of(Invoice)
    schema = PayloadSchema(digest=digest_of(shape), shape=shape, code="c", document=Invoice.model_json_schema())
    write_schema("report", schema, test.services.store.table)
    registry = test.services.deployment.registry()
    typed = replace(registry.types["report"], schema=schema.digest)
    test.operator.publish(replace(registry, types={**registry.types, "report": typed}))
    api = Api(test.services)

    described = api.send("GET /api/openapi.json").body

    of_jobs, of_runs = (
        described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        for path in ("/api/jobs", "/api/direct-runs")
    )
    assert of_jobs == of_runs
    assert of_jobs.keys() == {"errand", "report"}
    made = api.send("POST /api/jobs", of_jobs["report"]["value"])
    assert made.status == 201, made.body
    Invoice.model_validate(test.queue.get(made.body["job_id"]).payload)
    # What others are told of another deployment has none of it.
    assert "examples" not in json.dumps(openapi_document()["paths"]["/api/jobs"])
