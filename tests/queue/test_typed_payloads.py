"""A pydantic model is a payload; one that names its job type needs nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict

from leasehold import JobType, Priority
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import InvalidJobTypeError
from leasehold.runtime.handler import BaseJobHandler
from leasehold.testing import LeaseholdTest


class Size(StrEnum):
    SMALL = "small"


class Order(BaseModel):
    model_config = ConfigDict(frozen=True)
    job_type: ClassVar[str] = "ship_order"

    order_id: UUID
    at: datetime
    price: Decimal
    sizes: frozenset[Size] = frozenset()


class WithFieldOnly(BaseModel):
    job_type: str = "ship_order"


ORDER = Order(
    order_id=UUID(int=7), at=datetime(2026, 11, 15, 9, 30, tzinfo=UTC), price=Decimal("1.10"), sizes=frozenset(Size)
)
seen: list[BaseModel] = []


class ShipOrder(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Order

    def handle(self, payload: Order) -> None:
        seen.append(payload)


@pytest.fixture
def world() -> LeaseholdTest:
    seen.clear()
    return LeaseholdTest({"ship_order": ShipOrder})


def test_a_model_that_names_its_type_is_enqueued_by_itself_and_arrives_equal(world):
    world.queue.enqueue(ORDER)

    assert world.drain()["completed"] == 1
    assert seen == [ORDER]


def test_a_model_goes_with_a_named_type_too(world):
    world.queue.enqueue("ship_order", ORDER)
    world.queue.enqueue_many([NewJob(job=ORDER), NewJob(job="ship_order", payload=ORDER)])

    assert world.drain()["completed"] == 3
    assert seen == [ORDER] * 3


def test_the_type_is_no_part_of_the_payload(world):
    job = world.queue.get(world.queue.enqueue(ORDER).job_id)

    assert job.job_type == "ship_order"
    assert isinstance(job.payload, dict)
    assert set(job.payload) == {"order_id", "at", "price", "sizes"}


def test_a_waiting_job_is_edited_with_a_model(world):
    job_id = world.queue.enqueue(ORDER).job_id
    dearer = ORDER.model_copy(update={"price": Decimal("2.20")})

    world.queue.edit(job_id, payload=dearer)
    world.drain()

    assert seen == [dearer]


def test_a_field_of_that_name_is_not_a_type(world):
    with pytest.raises(InvalidJobTypeError, match=r"'WithFieldOnly'.*ClassVar"):
        world.queue.enqueue(WithFieldOnly())


def test_no_payload_is_an_empty_object(world):
    world.register("without_model", None)
    assert world.queue.get(world.queue.enqueue("without_model").job_id).payload == {}


def test_a_priority_may_be_given_by_its_name():
    test = LeaseholdTest(types=[JobType(name="child")])

    job_id = test.queue.enqueue("child", priority="critical").job_id
    assert test.queue.get(job_id).priority is Priority.CRITICAL
    assert test.queue.reprioritise(job_id, "low").priority is Priority.LOW
