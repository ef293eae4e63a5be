"""The README's code is run, word for word."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

from leasehold import JobStatus
from leasehold.cli.new import write_project
from tests.docs.markdown import ROOT, code_blocks, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.testing import LeaseholdTest


PAGE = "README.md"


def test_the_first_block_is_about_fifteen_lines() -> None:
    first = code_blocks(PAGE, "python")[0]

    assert len([line for line in first.splitlines() if line.strip()]) <= 15


def test_the_first_block_enqueues_a_job_that_its_handler_completes(
    deployed: LeaseholdTest, shown: dict[str, Any]
) -> None:
    deployed.register("daily_summary", shown["DailySummaryHandler"])

    assert deployed.drain().total == 0
    assert deployed.drain(until_idle=True)["completed"] == 1
    job = deployed.queue.get(shown["job"].job_id)
    assert job.status is JobStatus.COMPLETED
    assert job.result == {"sent_to": "ada"}


def test_the_first_blocks_job_is_done_by_the_sample_that_is_deployed_too(
    deployed: LeaseholdTest, shown: dict[str, Any]
) -> None:
    assert deployed.drain(until_idle=True)["completed"] == 1
    assert deployed.queue.get(shown["job"].job_id).result == {"user_id": "ada", "summary": "The day went well."}


def test_the_app_of_the_quick_start_is_the_one_that_init_makes(tmp_path: Path) -> None:
    """Which tests/package deploys."""
    write_project("my-jobs", tmp_path)

    assert code_blocks(PAGE, "python")[1] == (tmp_path / "my-jobs" / "app.py").read_text()


def test_every_code_block_of_the_readme_is_run_by_a_test() -> None:
    assert len(code_blocks(PAGE, "python")) == 2


def test_the_first_screen_names_both_commands_and_both_exist() -> None:
    first_screen = text_of("README.md").partition("## ")[0]

    for command in ("make demo", "make test"):
        assert command in first_screen
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_every_file_that_the_documents_link_to_exists() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
