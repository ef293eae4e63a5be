"""The demo tells the turns of a job, each once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, Job, JobContext, Skip, Snooze
from leasehold.local.demo.demo import changes
from leasehold.testing import LeaseholdTest


class Payload(BaseModel):
    pass


class Moody(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Payload]:
        return Payload

    def handle(self, payload: Payload, context: JobContext) -> None:
        raise NotImplementedError


def looks(test: LeaseholdTest) -> tuple[Job, Job]:
    job_id = test.queue.enqueue("moody", {}).job_id
    before = test.queue.get(job_id)
    test.drain()
    return before, test.queue.get(job_id)


def told(before: Job | None, after: Job) -> list[str]:
    return list(changes({before.job_id: before} if before else {}, {after.job_id: after}))


@pytest.fixture
def test() -> LeaseholdTest:
    return LeaseholdTest({"moody": Moody})


def moody(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> None:
    def handle(self: Moody, payload: Payload) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(Moody, "handle", handle)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConnectionError("gone"), "moody: attempt 1 failed with ConnectionError"),
        (Skip("nothing to do"), "moody: skipped, nothing to do"),
        (Snooze(30), "moody: snoozed until 00:00:30"),
    ],
)
def test_a_turn_is_told_once(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str) -> None:
    moody(monkeypatch, error)
    before, after = looks(test)

    assert told(before, after) == [line]
    assert told(after, after) == []


def test_a_job_that_just_completed_is_left_to_the_counts(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    moody(monkeypatch, None)

    assert told(*looks(test)) == []


def test_a_lost_worker_is_told_as_what_it_is(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    moody(monkeypatch, ConnectionError("gone"))
    before, after = looks(test)
    lost = replace(after, runs=(replace(after.runs[0], error_code="worker_lost"),))

    assert told(before, lost) == ["moody: attempt 1 was lost with its worker; its lease has shown it"]


def test_a_dead_letter_is_told_after_its_last_failure(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    moody(monkeypatch, ConnectionError("gone"))
    job_id = test.queue.enqueue("moody", {}, max_attempts=1, run_in=timedelta(0)).job_id
    before = test.queue.get(job_id)
    test.drain()

    assert told(before, test.queue.get(job_id)) == [
        "moody: attempt 1 failed with ConnectionError",
        "moody: a dead letter after 1 attempts",
    ]
