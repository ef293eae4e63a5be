from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from functions.jobs.referral_timeout.handler import ReferralTimeoutHandler
from leasehold import Outcome

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.kernel.payload import Json
    from tests.functions.jobs.conftest import Deploy

DUE_AT = datetime(2026, 1, 8, tzinfo=UTC)
EXPIRED = {"petition_id": "p1", "knight_id": "galahad", "outcome": "expired"}


def timed_out(deploy: Deploy, **referral: datetime) -> Job:
    test = deploy("referral_timeout", ReferralTimeoutHandler)
    payload = {name: at.isoformat() for name, at in {"due_at": DUE_AT, **referral}.items()}
    job_id = test.queue.enqueue(
        "referral_timeout", {"petition_id": "p1", "knight_id": "galahad", **payload}, run_at=DUE_AT
    ).job_id
    test.drain(until_idle=True)
    return test.queue.get(job_id)


def test_a_referral_without_an_answer_expires_at_its_deadline(deploy: Deploy):
    job = timed_out(deploy)
    assert job.result == EXPIRED
    assert job.completed_at == DUE_AT


def test_a_referral_that_was_answered_in_time_is_left_alone(deploy: Deploy):
    job = timed_out(deploy, answered_at=DUE_AT - timedelta(seconds=1))
    assert [run.outcome for run in job.runs] == [Outcome.SKIPPED]


def test_an_answer_after_the_deadline_comes_too_late(deploy: Deploy):
    assert timed_out(deploy, answered_at=DUE_AT + timedelta(seconds=1)).result == EXPIRED


def test_an_extended_referral_expires_at_its_new_deadline(deploy: Deploy):
    job = timed_out(deploy, extended_until=DUE_AT + timedelta(days=3))
    assert job.result == EXPIRED
    assert job.completed_at == DUE_AT + timedelta(days=3)
    assert job.attempts == 1


def test_a_timeout_that_fails_is_tried_after_30_and_after_60_seconds(deploy: Deploy):
    class Failing(ReferralTimeoutHandler):
        def handle(self, payload: object) -> None:  # type: ignore[override]
            raise ConnectionError("database is down")

    test = deploy("referral_timeout", Failing)
    payload: dict[str, Json] = {"petition_id": "p1", "knight_id": "galahad", "due_at": DUE_AT.isoformat()}
    job_id = test.queue.enqueue("referral_timeout", payload, run_at=DUE_AT).job_id
    assert test.drain(until_idle=True).counts == {"failed": 2, "dead_letter": 1}
    assert [run.started_at - DUE_AT for run in test.queue.get(job_id).runs] == [
        timedelta(0),
        timedelta(seconds=30),
        timedelta(seconds=90),
    ]
