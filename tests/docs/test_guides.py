"""Every example of the guides runs: blocks in order, tests with a queue in memory, settings as a job.toml."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from leasehold import Queue
from leasehold.job_folders.folder import load_job_folder
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


@pytest.mark.parametrize("guide", GUIDES)
def test_every_setting_in_a_guide_is_one_that_job_toml_takes(guide: str, tmp_path: Path) -> None:
    for number, block in enumerate(code_blocks(f"docs/{guide}.md", "toml")):
        folder = tmp_path / "jobs" / f"example_{number}"
        folder.mkdir(parents=True)
        (folder / "handler.py").write_text("")
        (folder / "job.toml").write_text(block)

        assert load_job_folder(tmp_path, folder.name, PurePosixPath("jobs")).name == folder.name
