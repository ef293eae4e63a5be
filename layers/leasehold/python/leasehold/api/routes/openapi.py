"""The API's own description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.answers import answered
from leasehold.api.callers import Operation

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Call


def show(call: Call) -> Answer:
    # It takes as long to import as all the rest: only who asks for it pays.
    from leasehold.api.document import openapi_document, with_examples

    return answered(with_examples(openapi_document(), call.read.payload_examples()))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/openapi.json",
        name="get_openapi",
        summary="This description, as OpenAPI 3.1",
        act=show,
        answers={200: "OpenApi"},
    ),
)
