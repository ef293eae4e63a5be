"""Who waits for others of its batch, between its claim and its hand-over."""

from __future__ import annotations

from datetime import UTC, datetime

from leasehold.batches.gather import Gathering
from leasehold.kernel.claim import Claimed
from leasehold.kernel.keys import Due, JobId
from leasehold.kernel.ports import Handover

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(job_id: str, token: str) -> Claimed:
    lease = Due(_NOW, "0001", job_id)
    return Claimed(
        Handover(job_id=JobId(job_id), job_type="import_rows", token=token, lease=lease), "import-rows", together=2
    )


def test_a_job_that_is_claimed_again_while_it_waits_is_handed_over_once() -> None:
    """A poll that stood still until its own claim had expired: the simulation's seed 10342."""
    gathering = Gathering()
    assert gathering.add(claimed("one", "void"), _NOW) is None
    assert gathering.add(claimed("one", "valid"), _NOW) is None

    batch = gathering.add(claimed("other", "its own"), _NOW)

    assert batch is not None
    assert [each.handover.token for each in batch] == ["valid", "its own"]
