"""An invocation has jobs of one type, each once, and no more of them than the type takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.deployments import TYPES
from tests.simulation.invariants.violation import hold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.ports import Handover


def check_batch(handovers: Sequence[Handover]) -> None:
    types = {each.job_type for each in handovers}
    job_ids = {each.job_id for each in handovers}
    if len(handovers) == 1:
        return
    batch = TYPES[handovers[0].job_type].batch
    size = batch.size if batch is not None else 1
    seen = f"{len(handovers)} hand-overs of {sorted(types)}, {len(job_ids)} jobs"
    hold(len(types) == 1 and len(job_ids) == len(handovers) <= size, "a batch is of one type and fits", seen)
