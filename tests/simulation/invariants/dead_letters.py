"""One dead letter for each dead job, and a dead letter that was redriven has the job that it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.keys import JobId, key_of
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from tests.simulation.mirror import Mirror


def check_dead_letter(job_id: str, mirror: Mirror) -> None:
    job = mirror.items.get(key_of(JobId(job_id)))
    dead_letter = mirror.dead_letters.get(job_id)
    is_dead = job is not None and job["status"] == "dead_letter"
    hold(
        is_dead == (dead_letter is not None), "one dead letter per dead job", f"{job_id[-6:]}: {job} has {dead_letter}"
    )
    if dead_letter is not None and "redriven_as" in dead_letter:
        made = key_of(JobId(dead_letter["redriven_as"]))
        hold(
            made in mirror.items or made in mirror.removed,
            "a redriven letter has its job",
            f"{job_id[-6:]} as {dead_letter['redriven_as']}",
        )
