"""What must hold of audit trails, wherever a process died: what was done is recorded once, and nothing else is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leasehold.audit.roots import verify_all
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from tests.crash.snapshot import Snapshot
    from tests.crash.world import World


def assert_recorded(world: World, now: Snapshot) -> None:
    services = world.elsewhere.services
    for target, flaws in verify_all(services):
        assert flaws == [], f"the trail of {target} is broken: {flaws}"
    for job in now.jobs.values():
        actions = Counter(record.audit_entry.action for record in services.store.audits.trail(f"job#{job.job_id}"))
        if actions["cancel"]:
            assert (job.status, actions["cancel"]) == (JobStatus.CANCELLED, 1), "a cancel without its record, or two"
        asked = job.cancel_requested is not None
        assert actions["request_cancel"] >= int(asked and not job.group_id), "asked to stop by nobody"
        # A redrive resolves a dead letter and is recorded there.
        retried = [each for each in now.successors(job.job_id) if job.job_id not in now.dead_letters]
        assert actions["retry"] == len(retried), "a retry without its record, or a record without its retry"
