from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from functions.jobs.escalation_check.handler import EscalationCheckHandler
from leasehold import JobStatus

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json
    from leasehold.testing import LeaseholdTest
    from tests.functions.jobs.conftest import Deploy


def petition(test: LeaseholdTest, co_signers: int) -> dict[str, Json]:
    closes_at = test.clock.now() + timedelta(hours=2, minutes=30)
    return {"petition_id": "p1", "co_signers": co_signers, "threshold": 100, "closes_at": closes_at.isoformat()}


def test_a_petition_with_enough_co_signers_is_escalated(deploy: Deploy):
    test = deploy("escalation_check", EscalationCheckHandler)
    job_id = test.queue.enqueue("escalation_check", petition(test, 100)).job_id
    test.drain()
    assert test.queue.get(job_id).result == {"petition_id": "p1", "escalated": True, "co_signers": 100}


def test_a_petition_that_closes_without_them_was_checked_every_hour_and_once_at_its_end(deploy: Deploy):
    test = deploy("escalation_check", EscalationCheckHandler)
    job_id = test.queue.enqueue("escalation_check", petition(test, 99)).job_id
    assert test.drain(until_idle=True).counts == {"snoozed": 3, "cancelled": 1}
    job = test.queue.get(job_id)
    assert job.status is JobStatus.CANCELLED
    assert job.cancel_reason == "petition p1 closed with 99 of 100"


def test_a_count_that_was_brought_up_to_date_is_seen_by_the_next_check(deploy: Deploy):
    test = deploy("escalation_check", EscalationCheckHandler)
    payload = petition(test, 99)
    job_id = test.queue.enqueue("escalation_check", payload).job_id
    assert test.drain()["snoozed"] == 1
    test.queue.edit(job_id, payload={**payload, "co_signers": 120})
    test.drain(until_idle=True)
    assert test.queue.get(job_id).status is JobStatus.COMPLETED
