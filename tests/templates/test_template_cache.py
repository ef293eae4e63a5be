"""Templates are read through a cache of at most five seconds; who changes one sees it at once."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from leasehold.features import Store
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.services import Services
from leasehold.queue import Queue
from leasehold.templates.model import UnknownTemplateError
from leasehold.testing import FakeClock
from tests.worlds import SpyTable, spied_queue

NIGHTLY = "template/nightly"


def queue_with_template() -> tuple[Queue, SpyTable, FakeClock]:
    clock = FakeClock()
    queue, table = spied_queue(clock=clock)
    queue.templates.create("nightly", "user_sync", {"n": 1})
    table.reads.clear()
    return queue, table, clock


def template_reads(table: SpyTable) -> list[str]:
    return [each for each in table.reads if each.startswith("template")]


def test_a_thousand_jobs_in_five_seconds_read_their_template_once():
    queue, table, clock = queue_with_template()
    for _ in range(500):
        queue.enqueue(template="nightly")
        clock.advance(timedelta(milliseconds=9))
    queue.enqueue_many(NewJob(template="nightly") for _ in range(500))

    assert template_reads(table) == [NIGHTLY]
    clock.advance(timedelta(seconds=5))
    queue.enqueue(template="nightly")
    assert template_reads(table) == [NIGHTLY] * 2


def test_a_job_without_a_template_reads_none():
    queue, table, _ = queue_with_template()

    queue.enqueue("user_sync")

    assert template_reads(table) == []


def test_a_change_takes_effect_at_once_here_and_elsewhere_within_five_seconds():
    queue, table, clock = queue_with_template()
    other = Queue(Services(store=Store(table), clock=clock))
    assert payload(other) == {"n": 1}

    queue.templates.update("nightly", payload={"n": 2})

    assert payload(queue) == {"n": 2}
    clock.advance(timedelta(seconds=4.999))
    assert payload(other) == {"n": 1}
    clock.advance(timedelta(milliseconds=1))
    assert payload(other) == {"n": 2}


def test_a_deleted_template_makes_no_more_jobs_within_five_seconds():
    queue, table, clock = queue_with_template()
    other = Queue(Services(store=Store(table), clock=clock))
    other.enqueue(template="nightly")

    queue.templates.delete("nightly")

    with pytest.raises(UnknownTemplateError):
        queue.enqueue(template="nightly")
    clock.advance(timedelta(seconds=5))
    with pytest.raises(UnknownTemplateError):
        other.enqueue(template="nightly")


def test_a_clock_that_was_set_back_keeps_no_old_answer_alive():
    queue, table, clock = queue_with_template()
    queue.enqueue(template="nightly")
    clock.advance(timedelta(hours=-1))

    queue.enqueue(template="nightly")

    assert template_reads(table) == [NIGHTLY] * 2


def test_a_template_that_is_changed_all_the_time_is_not_changed_by_us():
    queue, table, clock = queue_with_template()
    other = Queue(Services(store=Store(table), clock=clock))
    table.writes.clear()
    get, priorities = queue.services.store.templates.get, itertools.count()

    def get_late(name):
        found = get(name)
        other.templates.update(name, priority=next(priorities) % 2)
        return found

    queue.services.store.templates.get = get_late  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match="template 'nightly' was changed by others all the time"):
        queue.templates.update("nightly", max_attempts=2)

    assert other.templates.get("nightly").max_attempts is None


def payload(queue: Queue) -> object:
    return queue.get(queue.enqueue(template="nightly").job_id).payload
