from __future__ import annotations

import hashlib
import tarfile
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from functions.jobs.backup.handler import Backup, BackupHandler
from leasehold.job_folders.folder import load_job_folder
from leasehold.schedules.recurrence import Every
from tests.functions.jobs.conftest import ROOT

if TYPE_CHECKING:
    from leasehold import JobContext
    from leasehold.kernel.payload import Json
    from tests.functions.jobs.conftest import Deploy


def test_a_folder_is_packed_and_its_archive_noted(deploy: Deploy, tmp_path: Path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "users.csv").write_text("ada")
    test = deploy("backup", BackupHandler)
    paths: dict[str, Json] = {"source": str(tmp_path / "kept"), "destination": str(tmp_path / "backups")}
    job_id = test.queue.enqueue("backup", paths).job_id
    assert test.drain()["completed"] == 1
    job = test.queue.get(job_id)
    archive = Path(job.runs[0].artifacts[0])
    with tarfile.open(archive) as packed:
        assert packed.getnames() == ["kept", "kept/users.csv"]
    content = archive.read_bytes()
    assert job.result == {
        "archive": str(archive),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_an_attempt_after_a_crash_keeps_the_archive_that_is_there(deploy: Deploy, tmp_path: Path):
    digests: list[object] = []

    class LosesItsFirstAnswer(BackupHandler):
        def handle(self, payload: Backup, context: JobContext) -> dict[str, object]:
            result = super().handle(payload, context)
            digests.append(result["sha256"])
            if context.attempt == 1:
                (tmp_path / "kept" / "late.csv").touch()
                raise ConnectionError("lost")
            return result

    (tmp_path / "kept").mkdir()
    test = deploy("backup", LosesItsFirstAnswer)
    test.queue.enqueue("backup", {"source": str(tmp_path / "kept"), "destination": str(tmp_path / "backups")})
    test.drain(until_idle=True)
    assert len(digests) == 2
    assert len(set(digests)) == 1
    assert len(list((tmp_path / "backups").iterdir())) == 1


def test_a_backup_that_cannot_be_made_is_tried_every_minute_five_times(deploy: Deploy, tmp_path: Path):
    test = deploy("backup", BackupHandler)
    paths: dict[str, Json] = {"source": str(tmp_path / "nowhere"), "destination": str(tmp_path / "backups")}
    job_id = test.queue.enqueue("backup", paths).job_id
    assert test.drain(until_idle=True).counts == {"failed": 4, "dead_letter": 1}
    starts = [run.started_at for run in test.queue.get(job_id).runs]
    assert {later - earlier for earlier, later in pairwise(starts)} == {timedelta(minutes=1)}


def test_backups_run_every_half_hour_and_never_two_at_once():
    folder = load_job_folder(ROOT, "backup")
    assert folder.schedule is not None
    assert folder.schedule.recurrence == Every(timedelta(minutes=30))
    assert folder.job_type.concurrency == 1
