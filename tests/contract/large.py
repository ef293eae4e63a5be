"""Payloads that do not fit into a job, and a look at the items that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from leasehold.kernel import partitions
from leasehold.kernel.partitions import records_in
from leasehold.kernel.table import Delete
from tests.sample_payloads import noise

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.table import Record
    from tests.contract.world import World


def large(n: int = 1) -> dict[str, Any]:
    return {"n": n, **noise(2000, seed=n)}


def items_of(world: World, job_id: JobId) -> list[Record]:
    """What stands apart from a job, and what its edits have left there."""
    return list(records_in(world.table, partitions.payload_partition(job_id)))


def lose_payload(world: World, job_id: JobId) -> None:
    """As if it had expired."""
    for record in items_of(world, job_id):
        world.table.write(Delete(key=partitions.payload(job_id, cast("str", record["SK"])), conditions=()))
