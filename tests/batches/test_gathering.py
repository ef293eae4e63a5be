"""Who waits for others of its batch, between its claim and its hand-over."""

from __future__ import annotations

from datetime import UTC, datetime

from leasehold.batches.gather import Gathering
from leasehold.batches.model import Batch
from leasehold.kernel.claim import Claim
from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import DueJob, Write
from leasehold.kernel.keys import Due, JobId, Priority
from leasehold.kernel.ports import Handover
from leasehold.kernel.transitions import CLAIM, JobStatus

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(job_id: str, token: str) -> Claim:
    job_type = JobType(name="import_rows", batch=Batch(size=2))
    lease, name = Due(_NOW, "0001", job_id), JobId(job_id)
    entry = DueJob(
        job_id=name,
        job_type=job_type.name,
        status=JobStatus.PENDING,
        priority=Priority.NORMAL,
        due=lease,
        due_key=lease.key,
        lane="1#0",
    )
    handover = Handover(job_id=name, job_type=job_type.name, token=token, lease=lease)
    return Claim(entry=entry, job_type=job_type, handover=handover, write=Write(job_id=name, transition=CLAIM))


def test_a_job_that_is_claimed_again_while_it_waits_is_handed_over_once() -> None:
    """A poll that stood still until its own claim had expired: the simulation's seed 10342."""
    gathering = Gathering()
    assert gathering.add(claimed("one", "void"), _NOW) is None
    assert gathering.add(claimed("one", "valid"), _NOW) is None

    batch = gathering.add(claimed("other", "its own"), _NOW)

    assert batch is not None
    assert [each.handover.token for each in batch] == ["valid", "its own"]
