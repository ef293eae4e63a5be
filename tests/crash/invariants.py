"""What must hold of the stored state, at every moment and once everything has come to rest."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from leasehold.kernel.dead_letter import Resolution
from leasehold.kernel.job import Outcome
from leasehold.kernel.keys import key_of
from leasehold.kernel.transitions import JobStatus
from leasehold.telemetry import Event
from tests.crash.audit_invariants import assert_recorded
from tests.crash.group_invariants import assert_counted
from tests.crash.snapshot import Snapshot

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from tests.crash.world import Process, World


def assert_consistent(now: Snapshot) -> None:
    """Holds between any two calls, so also where a process died."""
    live = Counter(job.dedup for job in now.jobs.values() if job.dedup and not job.has_ended)
    assert not [ref for ref, count in live.items() if count > 1], "two live jobs share a dedup key"
    for ref, job_id in now.pointers.items():
        assert job_id in now.jobs, f"the dedup record {ref} points to no job"
        assert now.jobs[job_id].dedup == ref, f"the dedup record {ref} points to a job with another key"
    for job in now.jobs.values():
        assert job.dedup is None or job.has_ended or now.pointers.get(job.dedup) == job.job_id, (
            "a live job lost its key"
        )
        assert job.attempts <= job.max_attempts, f"{job.attempts} attempts of {job.max_attempts}"
    dead = {job.job_id for job in now.jobs.values() if job.status is JobStatus.DEAD_LETTER}
    assert dead == set(now.dead_letters), "dead jobs and dead letters differ"
    for dead_letter in now.dead_letters.values():
        again = [job.job_id for job in now.successors(dead_letter.id)]
        assert again == ([dead_letter.redriven_as] if dead_letter.redriven_as else []), (
            "a letter and its redriven job differ"
        )
        assert (dead_letter.resolution is Resolution.REDRIVEN) == bool(again)
    for group in now.groups.values():
        assert_counted(group, now)


def assert_at_rest(world: World) -> Snapshot:
    """Holds once the system has recovered: nothing lost, nothing completed twice."""
    now = Snapshot.of(world)
    assert_consistent(now)
    assert_recorded(world, now)
    lost = [job_id for job_id in world.acknowledged if job_id not in now.jobs]
    assert not lost, f"acknowledged, but gone: {lost}"
    for job in now.jobs.values():
        _assert_ended_once(job, world)
    for group in now.groups.values():
        assert group.has_ended, f"group {group.group_id} is {group.state}"
    for process in world.healthy:
        assert_untroubled(process)
    return now


def assert_untroubled(process: Process) -> None:
    """A process that no fault has hit fails at nothing and loses no lease; only a second copy finds its job started."""
    for event in (Event.ENTRY_FAILED, Event.TIDY_FAILED, Event.SETTLE_FAILED):
        assert not process.telemetry.of(event)
    lost = [fields for fields in process.telemetry.of(Event.LEASE_LOST) if fields["transition"] != "start"]
    assert not lost, f"the rightful owner was shut out: {lost}"


def _assert_ended_once(job: Job, world: World) -> None:
    assert job.has_ended, f"{job.job_id} is {job.status}"
    assert job.due is None
    assert job.locked_by is None
    is_completed = job.status is JobStatus.COMPLETED
    assert world.site.ledger.completions[key_of(job.job_id).sk] == int(is_completed), "completed twice, or never"
    completed_runs = [run for run in job.runs if run.outcome is not Outcome.FAILED]
    assert len(completed_runs) <= 1
    assert [run.number for run in job.runs] == list(range(1, len(job.runs) + 1)), "a run is missing or doubled"
    if json.loads(job.payload_text).get("mode") == "transact":
        assert world.times(job.job_id) == int(is_completed), "the handler's own write and the completion differ"
