"""What is logged is text and numbers, as a log line takes them; what cannot be read is logged as well."""

from __future__ import annotations

from leasehold import NonRetryableError
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.unreadable import Listed, Unreadable, readable
from leasehold.telemetry import Event
from tests.contract.world import World


def test_a_log_line_of_an_end_says_in_text_when_its_job_was_claimed():
    world = World(MemoryTable())
    world.queue.enqueue("report")

    world.work()

    (ended,) = world.recorder.of(Event.JOB_COMPLETED)
    assert ended["claimed_at"] == "2026-01-01T00:00:00.000Z"


def test_the_alert_of_a_dead_letter_says_the_last_500_characters_of_its_error():
    world = World(MemoryTable())
    job_id = world.queue.enqueue("report").job_id
    world.script.then(NonRetryableError("x" * 400 + "y" * 500))

    world.work()

    (alert,) = world.recorder.of(Event.JOB_DEAD_LETTERED)
    assert alert["failure_reason"] == "y" * 500
    assert alert["job_id"] == job_id


def test_what_a_listing_cannot_read_is_reported_and_hides_nothing():
    world = World(MemoryTable())
    listed = Listed(items=["a"], unreadable=[Unreadable(key="control x", problem="no text")])

    assert readable(listed, world.services) == ["a"]
    assert world.recorder.of(Event.RECORD_UNREADABLE) == [{"key": "control x", "problem": "no text"}]
