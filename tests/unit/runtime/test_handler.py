"""What a job type implements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold.domain.errors import InvalidJobPayloadError
from leasehold.runtime.handler import BaseJobHandler
from leasehold.testing import LeaseholdTest
from tests.unit.handlers import handler_that

if TYPE_CHECKING:
    from leasehold.runtime.context import JobContext


class Greeting(BaseModel):
    name: str
    times: int = 1


class Plain(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Greeting

    def handle(self, payload: Greeting) -> str:
        return f"hello {payload.name}" * payload.times


class WithContext(Plain):
    def handle(self, payload: Greeting, context: JobContext) -> str:  # type: ignore[override]
        return f"{context.attempt}: hello {payload.name}"


@pytest.mark.parametrize(("handler", "result"), [(Plain, "hello Ada"), (WithContext, "1: hello Ada")])
def test_a_handler_gets_its_model_and_the_context_if_it_asks_for_one(handler, result):
    world = LeaseholdTest({"greet": handler})
    job_id = world.queue.enqueue("greet", {"name": "Ada"}).job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == result


def test_a_payload_that_does_not_fit_its_model_is_a_dead_letter_at_once():
    world = LeaseholdTest({"greet": Plain})
    job_id = world.queue.enqueue("greet", {"times": "often", "secret": "hunter2"}).job_id

    assert world.drain(until_idle=True)["dead_letter"] == 1
    job = world.queue.get(job_id)
    assert (job.attempts, job.last_error_code) == (1, "invalid_job_payload")
    assert "name: Field required; times: Input should be a valid integer" in (job.last_error or "")


def test_the_values_of_a_bad_payload_stay_out_of_the_error():
    with pytest.raises(InvalidJobPayloadError) as refused:
        Plain.parse({"name": "hunter2", "times": "hunter2"})

    assert "hunter2" not in str(refused.value)
    assert str(refused.value).startswith("payload does not fit Greeting: times:")


def test_a_payload_that_is_no_object_does_not_fit():
    with pytest.raises(InvalidJobPayloadError, match="payload does not fit Greeting: payload: "):
        Plain.parse([1, 2])


def test_a_handler_that_lacks_a_part_says_which():
    class Empty(BaseJobHandler):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty needs payload_model\(\)"):
        Empty.payload_model()
    with pytest.raises(NotImplementedError, match=r"Empty needs handle\(payload\)"):
        Empty().handle(Greeting(name="Ada"))


def test_a_new_handler_is_made_for_every_attempt():
    made = []

    class Counting(handler_that(lambda _context: None)):  # type: ignore[misc]
        def __init__(self) -> None:
            made.append(self)

    world = LeaseholdTest({"count": Counting})
    world.queue.enqueue("count")
    world.queue.enqueue("count")
    world.drain()

    assert len(set(made)) == 2


def test_a_handler_whose_own_making_fails_is_tried_again():
    class Broken(handler_that(lambda _context: None)):  # type: ignore[misc]
        def __init__(self) -> None:
            raise KeyError("TABLE_NAME")

    world = LeaseholdTest({"broken": Broken})
    job_id = world.queue.enqueue("broken").job_id

    assert world.drain()["failed"] == 1
    assert world.queue.get(job_id).last_error_code == "KeyError"


def test_a_type_without_a_handler_says_which_handlers_there_are():
    world = LeaseholdTest({"greet": Plain})
    world.register("orphan", None)
    job_id = world.queue.enqueue("orphan").job_id

    assert world.drain()["dead_letter"] == 1
    assert "no handler for 'orphan', only for greet" in (world.queue.get(job_id).last_error or "")
