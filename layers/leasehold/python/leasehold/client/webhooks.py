"""The SDK's view of webhooks: what was sent to whom, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.engine.deliveries import deliveries_of, failed_deliveries

if TYPE_CHECKING:
    from leasehold.engine.deliveries import Delivery
    from leasehold.engine.parts import Parts


class Webhooks:
    """`queue.webhooks`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def deliveries(self, job_id: str) -> list[Delivery]:
        """What receivers were told, or will be, of this job's runs; kept as long as ended jobs are.

        >>> [(each.event, each.state) for each in queue.webhooks.deliveries(job_id)]     # doctest: +SKIP
        [('job.run.failed', 'delivered'), ('job.run.completed', 'waiting')]
        """
        return deliveries_of(job_id, self._parts)

    def failed(self, *, limit: int = 25) -> list[Delivery]:
        """The newest deliveries that were given up, of all jobs. `queue.retry(delivery_id, ...)` sends one again."""
        return failed_deliveries(self._parts, limit=limit)
