"""Every example of the guides runs: blocks in order, tests with a queue in memory."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold import Queue
from leasehold.testing import LeaseholdTest
from tests.docs.markdown import code_blocks

GUIDES = ("getting-started", "testing", "recipes", "migrating")


@pytest.fixture
def ran(request: pytest.FixtureRequest, leasehold: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a guide's names stand for once its blocks have run."""
    names: dict[str, Any] = {}

    def connect(_name: str) -> Queue:
        leasehold.register("send_invoice", names["SendInvoiceHandler"])
        return leasehold.queue

    monkeypatch.setattr(Queue, "connect", connect)
    for block in code_blocks(f"docs/{request.param}.md", "python"):
        exec(block, names)
    return names


@pytest.mark.parametrize("ran", GUIDES, indirect=True)
def test_every_block_of_a_guide_runs_and_so_do_its_tests(ran: dict[str, Any]) -> None:
    tests = [value for name, value in ran.items() if name.startswith("test_")]

    for test in tests:
        test(LeaseholdTest())
    assert tests or "queue" in ran


@pytest.mark.parametrize("ran", ["getting-started"], indirect=True)
def test_the_jobs_of_the_first_guide_are_done(ran: dict[str, Any], leasehold: LeaseholdTest) -> None:
    assert leasehold.drain(until_idle=True)["completed"] == 2
    assert {job.job_id: job.attempts for job in leasehold.jobs()} == {ran["now"].job_id: 1, ran["later"].job_id: 1}
