"""What must hold once everything is at rest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from leasehold.audit.records import audit_record_of, head_of_record, last_entry_of
from leasehold.kernel.job import job_of
from leasehold.kernel.keys import JobId, key_of, to_text
from leasehold.webhooks.model import delivery_id
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from leasehold.audit.records import AuditRecord
    from tests.simulation.mirror import Mirror
    from tests.simulation.world import World

# How the reasons of operators begin. Each is given for one action; others, such as "created", for many.
OWN_REASON = "reason "


def check_end(world: World) -> None:
    mirror = world.watch.mirror
    world.watch.check_whole()
    for job_id in world.acknowledged:
        is_there = key_of(JobId(job_id)) in mirror.jobs.keys() | mirror.removed
        hold(is_there, "what was acknowledged is there", f"{job_id} is gone")
    for key, job in mirror.jobs.items():
        world.watch.spending.check(key, job, has_faults=bool(world.plan.rates))
        _check_runs(job)
        _check_effect(job, mirror)
        _check_told(job, world)
    world.watch.waiting.check_end(world)
    _check_trails(world)


def _check_runs(job: dict[str, Any]) -> None:
    numbers = [run["number"] for run in job.get("runs", [])]
    hold(numbers == list(range(1, len(numbers) + 1)), "runs are numbered", f"{job['job_id']}: {numbers}")
    finished = [run for run in job.get("runs", []) if run["outcome"] == "COMPLETED"]
    expected = job["status"] == "completed" and (numbers and job["runs"][-1]["outcome"] == "COMPLETED")
    hold(len(finished) == int(bool(expected)), "completed once", f"{job['job_id'][-6:]} {job['status']}: {numbers}")


def _check_effect(job: dict[str, Any], mirror: Mirror) -> None:
    """What a handler wrote together with its completion happened as often as that: once, or never."""
    times = mirror.others.get(job["job_id"], {}).get("times", 0)
    is_completed = job["status"] == "completed"
    hold(times <= int(is_completed), "own writes happen with the end", f"{job['job_id'][-6:]}: {times} times")
    if is_completed and job.get("result") == '{"by":"transaction"}':
        hold(times == 1, "own writes happen with the end", f"{job['job_id'][-6:]}: {times} times")


def _check_told(job: dict[str, Any], world: World) -> None:
    """Whoever wants to hear of a job has heard of each of its runs, or will: a delivery was made for it.

    A deployment without webhooks drops what was owed.
    """
    if "webhook" not in job:
        return
    hold("owed" not in job, "each run is told of", f"{job['job_id'][-6:]} still owes {job.get('owed')}")
    made = world.watch.mirror.items.keys() | world.watch.mirror.removed
    for each in (delivery_id(JobId(job["job_id"]), run, run.ended_at) for run in job_of(job).runs):
        is_made = tuple(key_of(each)) in made or world.had_no_webhooks
        hold(is_made, "each run is told of", f"{job['job_id'][-6:]}: {each} was not made")


def _check_trails(world: World) -> None:
    """Each chain is whole, and each thing that an operator was told is done has one record."""
    mirror = world.watch.mirror
    heads = {}
    entries: dict[tuple[str, str], AuditRecord] = {}
    by_target: dict[str, dict[str, Any]] = {}
    dates: dict[tuple[str, str], str] = {}
    reasons: Counter[str] = Counter()
    for (partition, _), record in mirror.items.items():
        if partition.startswith("audit-head#"):
            head = head_of_record(record)
            heads[head.target] = head.digest
        elif partition.startswith("audit#"):
            audit = audit_record_of(record)
            entries[audit.audit_entry.target, audit.head] = audit
    for (partition, _), record in mirror.items.items():
        # A record that is not inserted yet stands at the head of its chain.
        if partition.startswith("audit-head#"):
            last = last_entry_of(record)
            entries.setdefault((last.audit_entry.target, last.head), last)
    for (target, _), audit in entries.items():
        hold(audit.is_sound, "audit chains are whole", f"a record of {target} was changed")
        links = by_target.setdefault(target, {})
        hold(audit.previous not in links, "audit chains are whole", f"{target} forks")
        links[audit.previous] = audit.head
        dates[target, audit.previous] = to_text(audit.audit_entry.at)
        reasons[audit.audit_entry.reason] += 1
    for target, links in by_target.items():
        at, length = "", 0
        when = ""
        while at in links:
            dated = dates[target, at]
            hold(when <= dated, "audit chains are dated along", f"{target}: {dated} follows {when}")
            at, length, when = links[at], length + 1, dated
        is_whole = length == len(links) and heads.get(target) == at
        hold(is_whole, "audit chains are whole", f"{target}: {length} of {len(links)}")
    for reason, chore in world.done.items():
        hold(reasons[reason] == 1, "one audit record per action", f"{chore} ({reason}) has {reasons[reason]}")
    # Of the others nobody knows whether they were done. But none is done twice.
    for reason, count in reasons.items():
        is_own = reason.startswith(OWN_REASON)
        hold(count == 1 or not is_own, "one audit record per action", f"{reason} has {count}")
