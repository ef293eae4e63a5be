"""Whatever a handler returns or raises, its job ends or goes on as stated."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from leasehold.kernel.errors import NonRetryableError
from leasehold.kernel.job import MAX_ERROR_BYTES, MAX_REASON_BYTES, Outcome
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.signals import Cancel, Skip, Snooze
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that, raising


def ran_once(work) -> tuple[LeaseholdTest, str]:
    """A world in which one job was run once, and how that went."""
    world = LeaseholdTest({"work": handler_that(work)})
    world.queue.enqueue("work")
    (execution,) = world.drain().counts
    return world, str(execution)


def the_job(world: LeaseholdTest):
    (job,) = world.jobs()
    return job


@pytest.mark.parametrize(
    "result", [None, 0, "", [], {}, {"total": Decimal("1.10"), "at": datetime(2026, 1, 1, tzinfo=UTC)}]
)
def test_what_a_handler_returns_is_the_result(result):
    world, execution = ran_once(lambda _context: result)

    assert execution == "completed"
    assert the_job(world).result == result


@pytest.mark.parametrize(
    ("result", "code", "told"),
    [
        ({"rows": {1, 2}}, "invalid_payload", "result.rows is a set"),
        (math.nan, "invalid_payload", "result is not a finite number"),
        (object(), "invalid_payload", "result is a object"),
        ("x" * 70_000, "payload_too_large", "the result is larger than the limit of 65536 bytes"),
    ],
)
def test_a_result_that_cannot_be_stored_is_a_dead_letter(result, code, told):
    world, execution = ran_once(lambda _context: result)

    assert execution == "dead_letter"
    job = the_job(world)
    assert (job.last_error_code, job.result) == (code, None)
    assert told in job.last_error
    assert [dead_letter.error_code for dead_letter in world.operator.dead_letters()] == [code]


def test_an_error_is_kept_from_the_handler_s_own_frame_on():
    world, execution = ran_once(raising(RuntimeError("boom")))

    assert execution == "failed"
    job = the_job(world)
    assert job.last_error_code == "RuntimeError"
    assert job.last_error.endswith("RuntimeError: boom")
    assert "kernel/execute.py" not in job.last_error
    assert [run.outcome for run in job.runs] == [Outcome.FAILED]
    (told,) = world.telemetry.of(Event.JOB_FAILED)
    assert told["will_retry"] is True


def test_a_long_error_keeps_its_end():
    world, _ = ran_once(raising(RuntimeError("x" * 100_000 + " the point")))

    assert the_job(world).last_error.endswith(" the point")
    assert len(the_job(world).last_error.encode()) == MAX_ERROR_BYTES == 8 * 1024


def test_a_handler_that_exits_has_failed():
    world, execution = ran_once(raising(SystemExit(1)))

    assert execution == "failed"
    assert the_job(world).last_error_code == "SystemExit"


def test_an_interrupt_is_not_a_failure_of_the_job():
    world = LeaseholdTest({"work": handler_that(raising(KeyboardInterrupt()))})
    world.queue.enqueue("work")

    with pytest.raises(KeyboardInterrupt):
        world.drain()

    assert the_job(world).status is JobStatus.IN_PROGRESS


def test_an_error_that_says_so_is_not_retried():
    class HopelessError(NonRetryableError):
        code = "hopeless"

    world, execution = ran_once(raising(HopelessError("never")))

    assert execution == "dead_letter"
    assert (the_job(world).attempts, the_job(world).last_error_code) == (1, "hopeless")


def test_a_snooze_gives_the_attempt_back():
    world, execution = ran_once(raising(Snooze(90)))

    job = the_job(world)
    assert (execution, job.status, job.attempts, job.runs) == ("snoozed", JobStatus.PENDING, 0, ())
    assert (job.due_at - world.clock.now()).total_seconds() == 90


def test_a_skip_completes_with_its_reason():
    world, execution = ran_once(raising(Skip("nothing new")))

    job = the_job(world)
    assert (execution, job.status) == ("skipped", JobStatus.COMPLETED)
    assert [(run.outcome, run.reason) for run in job.runs] == [(Outcome.SKIPPED, "nothing new")]


def test_a_cancel_ends_the_job_with_its_reason_however_long():
    world, execution = ran_once(raising(Cancel("because " + "x" * 500_000)))

    job = the_job(world)
    assert (execution, job.status) == ("cancelled", JobStatus.CANCELLED)
    assert len(job.cancel_reason.encode()) <= MAX_REASON_BYTES
