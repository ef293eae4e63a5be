"""`leasehold restore`: export, load and settle, as an operator types them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.keys import to_text
from tests.cli.operators_shell import Shell

if TYPE_CHECKING:
    from pathlib import Path

HOUR = timedelta(hours=1)
REASON = ("--reason", "the tables were lost")


def test_a_queue_comes_back_halted_and_what_ran_since_is_cancelled(shell: Shell, tmp_path: Path):
    job_id = shell.enqueue(run_in=HOUR)
    later = shell.enqueue(run_in=9 * HOUR)
    shell.ok("restore", "export", str(tmp_path / "before"))
    at = to_text(shell.test.clock.now())
    shell.test.clock.advance(2 * HOUR)
    shell.test.drain()
    made = shell.enqueue(run_in=9 * HOUR)
    shell.ok("restore", "export", str(tmp_path / "old"))
    new = Shell()
    new.test.clock.move_to(shell.test.clock.now())

    assert "It is halted" in new.ok("restore", "load", str(tmp_path / "before"), "--yes", *REASON)
    settle = ("restore", "settle", "--at", at, "--old", str(tmp_path / "old"))
    look = new.json(*settle, "--dry-run")
    assert new.test.queue.get(job_id).status == "pending"
    done = new.json(*settle, "--yes", *REASON)

    assert look == {**done, "dry_run": True}
    assert [(each["job_id"], each["since"]) for each in done["ran"]] == [(job_id, "completed")]
    assert [each["job_id"] for each in done["made"]] == [made]
    assert done["goes_on"] == 1
    assert (new.test.queue.get(job_id).status, new.test.queue.get(later).status) == ("cancelled", "pending")
    told = new.ok(*settle, "--dry-run").splitlines()
    assert told[0] == "0 jobs ran since and would be cancelled here:"
    assert told[1:3] == ["1 jobs were made since, and are only in the old tables:", f"  {made}  daily_summary  pending"]
    new.ok("resume", *REASON)


def test_without_old_tables_somebody_decides(shell: Shell, tmp_path: Path):
    job_id = shell.enqueue(run_in=HOUR)
    shell.test.clock.advance(2 * HOUR)

    refused = shell.run("restore", "settle", "--at", "2h", "--yes", *REASON)
    assert (refused.exit_code, "nobody knows whether they ran" in refused.stderr) == (2, True)
    assert shell.run("restore", "settle", "--at", "2h", "--unknown", "maybe", "--yes", *REASON).exit_code == 2
    shell.ok("restore", "settle", "--at", "2h", "--unknown", "cancel", "--yes", *REASON)

    assert shell.test.queue.get(job_id).status == "cancelled"


def test_an_export_overwrites_nothing(shell: Shell, tmp_path: Path):
    folder, file = tmp_path / "old", tmp_path / "notes"
    file.write_text("mine")
    shell.ok("restore", "export", str(folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shell.enqueue()

    for taken in (folder, file):
        refused = shell.run("restore", "export", str(taken))
        assert (refused.exit_code, refused.stderr.partition(":")[0]) == (2, "invalid_option")
        assert "is there already" in refused.stderr

    (folder / "jobs.json.gz").unlink()
    assert shell.run("restore", "export", str(folder)).exit_code == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: content for name, content in before.items() if name != "jobs.json.gz"
    }
    assert file.read_text() == "mine"
