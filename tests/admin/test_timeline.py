"""A job's timeline: each thing once, in order."""

from __future__ import annotations

from datetime import timedelta

from leasehold.admin.reading import Reader
from leasehold.kernel.errors import NonRetryableError
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that


def queue_that(*, fails: bool = False) -> LeaseholdTest:
    def work(context: object) -> object:
        if fails:
            raise NonRetryableError("never")
        return None

    return LeaseholdTest({"report": handler_that(work)})


def events(of: LeaseholdTest, job_id: str) -> list[str]:
    moments = Reader(of.services).job(job_id)["timeline"]
    assert isinstance(moments, list)
    times = [moment["at"] for moment in moments]
    assert times == sorted(times)
    return [moment["event"] for moment in moments]


def test_a_completed_job_is_said_to_be_completed_once() -> None:
    queue = queue_that()
    job_id = queue.queue.enqueue("report").job_id
    queue.drain()

    assert events(queue, job_id) == ["created", "started", "completed"]


def test_a_job_that_was_run_before_its_time_does_not_name_that_time() -> None:
    queue = queue_that()
    job_id = queue.queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    assert events(queue, job_id) == ["created", "scheduled"]
    queue.queue.reschedule(job_id, reason="now")
    queue.drain()

    assert events(queue, job_id) == ["created", "started", "completed"]


def test_a_waiting_job_that_was_cancelled_ends_with_that() -> None:
    queue = queue_that()
    job_id = queue.queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    queue.queue.cancel(job_id, reason="withdrawn")

    assert events(queue, job_id) == ["created", "cancelled"]


def test_what_became_of_a_dead_letter_is_on_the_job_s_timeline() -> None:
    queue = queue_that(fails=True)
    job_id = queue.queue.enqueue("report").job_id
    queue.drain()
    queue.clock.advance(timedelta(seconds=5))
    queue.operator.discard(job_id, reason="not needed")

    assert events(queue, job_id) == ["created", "started", "failed", "dead_letter", "discarded"]
