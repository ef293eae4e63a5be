"""What a job type implements."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest
from pydantic import BaseModel

from leasehold.kernel.errors import InvalidOptionError, InvalidPayloadError
from leasehold.kernel.job_type import JobType
from leasehold.runtime.functions import job
from leasehold.runtime.handler import BaseJobHandler, InvalidJobPayloadError, call, handler_of
from leasehold.runtime.timing import JobTimeoutError
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.runtime.handler import Handler, JobContext


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
    world = LeaseholdTest({"greet": Plain}, types=[JobType(name="greet", check_payload=False)])
    job_id = world.queue.enqueue("greet", {"times": "often", "secret": "hunter2"}).job_id

    assert world.drain(until_idle=True)["dead_letter"] == 1
    job = world.queue.get(job_id)
    assert (job.attempts, job.last_error_code) == (1, "invalid_job_payload")
    assert "name: Field required; times: Input should be a valid integer" in (job.last_error or "")


def test_a_payload_that_does_not_fit_is_refused_before_there_is_a_job():
    world = LeaseholdTest({"greet": Plain})

    with pytest.raises(InvalidPayloadError, match=r"payload\.times is no number") as refused:
        world.queue.enqueue("greet", {"name": "Ada", "times": "often"})

    assert refused.value.path == "payload.times"
    assert world.jobs() == []


def test_a_waiting_job_is_edited_to_what_fits_only():
    world = LeaseholdTest({"greet": Plain})
    job_id = world.queue.enqueue("greet", {"name": "Ada"}, run_in=timedelta(hours=1)).job_id

    with pytest.raises(InvalidPayloadError, match=r"payload\.name is missing"):
        world.queue.edit(job_id, payload={})

    assert world.queue.get(job_id).payload == {"name": "Ada"}


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

    with pytest.raises(NotImplementedError, match=r"write `class Empty\(BaseJobHandler\[YourModel\]\)`"):
        Empty.payload_model()
    with pytest.raises(NotImplementedError, match=r"Empty needs handle\(payload\)"):
        call(Empty(), Greeting(name="Ada"), cast("JobContext", None))


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


class Bracketed(BaseJobHandler[Greeting]):
    async def handle(self, payload: Greeting, context: JobContext) -> str:
        await asyncio.sleep(0)
        return f"{context.attempt}: hello {payload.name}"


class Grandchild(Bracketed):
    pass


@job
def greet(payload: Greeting, context: JobContext) -> str:
    return f"{context.attempt}: hello {payload.name}"


@job
async def greet_later(payload: Greeting) -> str:
    await asyncio.sleep(0)
    return f"later: hello {payload.name}"


def test_the_model_is_the_one_in_brackets_also_for_those_who_inherit_it():
    assert Bracketed.payload_model() is Greeting
    assert Grandchild.payload_model() is Greeting


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        (Bracketed, "1: hello Ada"),
        (Grandchild, "1: hello Ada"),
        (greet, "1: hello Ada"),
        (greet_later, "later: hello Ada"),
    ],
)
def test_classes_functions_and_both_as_async_def_handle_jobs(handler: Handler, result: str):
    world = LeaseholdTest({"greet": handler})
    job_id = world.queue.enqueue("greet", {"name": "Ada", "times": 1}).job_id
    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == result


def test_an_async_handler_can_be_tested_inside_a_running_loop():
    async def test() -> object:
        world = LeaseholdTest({"greet": Bracketed})
        job_id = world.queue.enqueue("greet", {"name": "Ada", "times": 1}).job_id
        world.drain()
        return world.queue.get(job_id).result

    assert asyncio.run(test()) == "1: hello Ada"


def test_a_function_with_job_stays_what_it_was():
    assert asyncio.run(greet_later(Greeting(name="Ada", times=1))) == "later: hello Ada"
    assert handler_of(greet).__name__ == "greet"


def test_an_async_handler_that_takes_too_long_is_timed_out():
    @job
    async def sleep(payload: Greeting) -> None:
        await asyncio.sleep(60)

    with pytest.raises(JobTimeoutError):
        call(handler_of(sleep)(), Greeting(name="Ada", times=1), cast("JobContext", None), timedelta(milliseconds=20))


def test_its_own_timeout_is_not_taken_for_the_jobs():
    @job
    async def sleep(payload: Greeting) -> None:
        raise TimeoutError("the receiver")

    with pytest.raises(TimeoutError, match="the receiver"):
        call(handler_of(sleep)(), Greeting(name="Ada", times=1), cast("JobContext", None), timedelta(seconds=20))


def not_annotated(payload): ...


def a_number(payload: int) -> None: ...


def for_type_checkers_only(payload: NotThere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def takes_three(payload: Greeting, context: JobContext, third: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (not_annotated, "'payload' is annotated with no pydantic model"),
        (a_number, "'payload' is annotated with no pydantic model"),
        (for_type_checkers_only, "not there at run time"),
        (takes_three, "a job takes its payload, and maybe a JobContext"),
    ],
)
def test_a_function_that_cannot_be_a_job_says_why(function: Callable[..., object], reason: str):
    with pytest.raises(InvalidOptionError, match=reason):
        job(function)


def test_a_function_without_job_is_no_handler():
    with pytest.raises(InvalidOptionError, match="neither a BaseJobHandler nor a function with @job"):
        handler_of(a_number)
