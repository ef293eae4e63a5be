"""What checking payloads against their model costs; docs/cost.md states it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold import JobType, Queue
from leasehold.kernel.errors import InvalidPayloadError
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from tests.meter import Meter
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide


class Letter(BaseModel):
    pages: int


def test_a_check_writes_nothing_and_reads_a_schema_once_in_a_process(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    shape = shape_of(Letter)
    schema = PayloadSchema(digest=digest_of(shape), shape=shape, code="c")
    types = [JobType(name="plain"), JobType(name="checked", schema=schema.digest)]
    deployed = RealQueue(make_client(dynoxide_endpoint), types)
    write_schema("checked", schema, deployed.services.store.table)
    meter, queue = Meter(deployed.client), Queue(deployed.process())
    queue.enqueue("plain", {"pages": 3})  # reads what is deployed

    plain = meter.during(lambda: queue.enqueue("plain", {"pages": 3}))
    first = meter.during(lambda: queue.enqueue("checked", {"pages": 3}))
    second = meter.during(lambda: queue.enqueue("checked", {"pages": 3}))
    with pytest.raises(InvalidPayloadError, match="pages"):
        queue.enqueue("checked", {"pages": []})
    refused = meter.take()

    assert (plain.write_units, plain.read_units) == (2, 0)
    assert (first.write_units, first.requests["GetItem"]) == (2, 1)
    assert (second.write_units, second.total_requests) == (2, 1)
    assert refused.total_requests == 0
