"""Packs a folder into one archive, every half hour.

Replace the folder by what you keep, and the destination by a bucket: upload the archive under its name, note its
address as the artifact, and give job.toml the permission s3:PutObject.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from pathlib import Path

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext


class Backup(BaseModel):
    source: Path = Path(__file__).parent
    destination: Path = Path(tempfile.gettempdir()) / "backups"


class BackupHandler(BaseJobHandler[Backup]):
    def handle(self, payload: Backup, context: JobContext) -> dict[str, object]:
        payload.destination.mkdir(parents=True, exist_ok=True)
        archive = payload.destination / f"{payload.source.name}-{context.idempotency_key}.tar.gz"
        # An earlier attempt may have got this far: an archive under its final name is whole.
        if not archive.exists():
            unfinished = archive.with_suffix(".part")
            with tarfile.open(unfinished, "w:gz") as packed:
                packed.add(payload.source, arcname=payload.source.name)
            unfinished.rename(archive)
        context.add_artifact(str(archive))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        return {"archive": str(archive), "bytes": archive.stat().st_size, "sha256": digest}
