"""Direct runs that fail, or are refused: the caller is told why, and jobs run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.direct_runs.model import DirectRunError, JobTypePausedError
from leasehold.kernel.errors import DispatchError, SystemHaltedError
from leasehold.runtime.signals import Cancel, Skip, Snooze
from tests.contract.directly import DirectRunner, started, what_is_taken

if TYPE_CHECKING:
    from tests.contract.world import World

NOTHING: tuple[bool, list[int]] = (False, [])


@pytest.fixture
def direct(world: World) -> DirectRunner:
    return DirectRunner(world)


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (RuntimeError("no ink"), "RuntimeError", "no ink"),
        (Snooze(30), "snoozed", "asked to be run again after 30 s"),
        (Cancel("withdrawn"), "cancelled", "cancelled the run: withdrawn"),
    ],
    ids=["error", "snooze", "cancel"],
)
def test_a_handler_that_fails_is_an_error_with_its_code_and_jobs_run_again(
    world: World, direct: DirectRunner, raised: Exception, code: str, told: str
) -> None:
    world.script.then(raised)

    with pytest.raises(DirectRunError, match=told) as caught:
        direct.run("limited")

    assert caught.value.error_code == code
    assert what_is_taken(world, "limited") == NOTHING
    world.queue.enqueue("limited")
    assert world.work() == ["completed"]


def test_a_handler_that_skips_has_no_result(world: World, direct: DirectRunner) -> None:
    world.script.then(Skip("nothing to do"))

    assert direct.run("limited") is None


def test_a_handler_that_was_not_reached_leaves_nothing_reserved(world: World, direct: DirectRunner) -> None:
    direct.caller.failure = DispatchError("throttled")

    with pytest.raises(DispatchError):
        direct.run("limited")

    assert what_is_taken(world, "limited") == NOTHING


@pytest.mark.parametrize("job_type", ["report", "limited"])
def test_what_an_operator_stopped_meanwhile_is_not_run(world: World, direct: DirectRunner, job_type: str) -> None:
    world.queue.enqueue(job_type)
    attempt = started(world, world.claim_one())
    direct.meanwhile(lambda: world.operator.halt(reason="fire"), lambda: attempt.complete(None))
    with pytest.raises(SystemHaltedError):
        direct.run(job_type)
    world.operator.resume()
    world.operator.pause(job_type, reason="smoke")

    with pytest.raises(JobTypePausedError, match=rf"{job_type}.* paused since .* by ada: smoke. Enqueue a job"):
        direct.run(job_type)

    assert direct.caller.called == []
    assert what_is_taken(world, job_type) == NOTHING
