"""Direct runs that are refused: before any write, with a named error."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

import pytest
from pydantic import BaseModel

from leasehold.direct_runs.model import JobTypePausedError
from leasehold.direct_runs.next_slot import NOTICED_AFTER
from leasehold.kernel.errors import (
    DispatchError,
    InvalidJobTypeError,
    InvalidOptionError,
    InvalidPayloadError,
    SystemHaltedError,
    UnknownJobTypeError,
)
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that
from tests.worlds import spied_queue

DEPLOYED = Registry(types={"story": JobType(name="story", concurrency=1), "sync": JobType(name="sync")})
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("job", "payload", "timeout", "error", "told"),
    [
        ("stroy", None, MINUTE, UnknownJobTypeError, "Deployed types: story, sync"),
        ("No Type", None, MINUTE, InvalidJobTypeError, "a job type is 1 to 64"),
        (None, None, MINUTE, InvalidJobTypeError, "a job type is 1 to 64"),
        ("story", {"at": object()}, MINUTE, InvalidPayloadError, "payload.at is a object"),
        ("story", None, 60, InvalidOptionError, "for nothing to 3600 s: got 60. Pass a timedelta"),
        ("story", None, -MINUTE, InvalidOptionError, "for nothing to 3600 s"),
        ("story", None, timedelta(hours=2), InvalidOptionError, "for nothing to 3600 s"),
        ("sync", None, NOTICED_AFTER, InvalidOptionError, "its turn comes after 6 s .* give the type a limit"),
    ],
)
def test_a_bad_call_is_refused_without_a_write(job, payload, timeout, error, told):
    queue, table = spied_queue(DEPLOYED)

    with pytest.raises(error, match=told):
        queue.run_now(job, payload, timeout=timeout)

    assert table.writes == []


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        (lambda operator: operator.halt(reason="fire"), SystemHaltedError),
        (lambda operator: operator.pause("story", reason="smoke"), JobTypePausedError),
    ],
    ids=["halted", "paused"],
)
def test_what_an_operator_stopped_is_refused_without_a_write_however_fresh_the_stop_is(stop, error):
    queue, table = spied_queue(DEPLOYED)
    queue.services.deployment.switches()
    stop(Operator(Queue(queue.services).services))
    table.writes.clear()

    with pytest.raises(error):
        queue.run_now("story")

    assert table.writes == []


def test_a_queue_that_cannot_call_handlers_says_so_and_leaves_nothing_reserved():
    queue, _ = spied_queue(DEPLOYED)

    with pytest.raises(DispatchError, match=r"no way to call the handler of 'story'.* Queue.connect"):
        queue.run_now("story")

    assert queue.services.store.control.switches().reservations == {}


def test_a_typed_payload_names_its_type():
    class Story(BaseModel):
        job_type: ClassVar[str] = "story"
        words: int

    world = LeaseholdTest({"story": handler_that(lambda context: context.job_type)}, types=DEPLOYED.types.values())

    assert world.queue.run_now(Story(words=3)) == "story"


def test_a_type_that_has_a_limit_is_run_without_any_wait():
    world = LeaseholdTest({"story": handler_that(lambda _: None)}, types=DEPLOYED.types.values())
    before = world.clock.now()

    world.queue.run_now("story", timeout=timedelta(0))

    assert world.clock.now() == before


def test_a_type_that_has_none_is_run_once_everybody_knows_of_it():
    world = LeaseholdTest({"sync": handler_that(lambda _: None)})
    before = world.clock.now()

    world.queue.run_now("sync")

    assert world.clock.now() == before + NOTICED_AFTER
