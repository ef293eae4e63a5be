"""What operators do: halt and pause, look after dead letters, say what is deployed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.keys import parse_job_id
from leasehold.kernel.payload import encode_value
from leasehold.operate import control as switch
from leasehold.operate import redrive as dead_letters
from leasehold.operate.jobs import cancel_many
from leasehold.operate.measure import backlog_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.payload import Json, PayloadModel
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Services
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.measure import Backlog
    from leasehold.operate.redrive import Redriven


class Operator:
    """Acts on a queue. Who does, as AWS knows them, is recorded with everything it does.

    >>> Operator(queue.services).halt(reason="bad deploy")                        # doctest: +SKIP
    True
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def publish(self, registry: Registry) -> None:
        """Say which job types are deployed, on how many shards."""
        switch.publish(registry, self._services)

    def switches(self) -> Switches:
        """What is halted or paused now, by whom and why; also by a circuit breaker."""
        return switch.everything_stopped(self._services)

    def halt(self, *, reason: str = "") -> bool:
        """Stop the whole system: no enqueue, no claim. Running jobs finish. False if it was halted before."""
        return switch.halt(self._services, reason=reason)

    def resume(self, *, reason: str = "") -> bool:
        return switch.resume(self._services, reason=reason)

    def pause(self, job_type: str, *, reason: str = "") -> bool:
        """Start no more jobs of one type; they can still be enqueued. Its circuit breaker sends no probe either."""
        return switch.pause(job_type, self._services, reason=reason)

    def unpause(self, job_type: str, *, reason: str = "") -> bool:
        """Lift a pause, and close an open circuit, which then counts anew. False if there was neither."""
        return switch.unpause(job_type, self._services, reason=reason)

    def backlog(self) -> Backlog:
        """Due and unclaimed jobs per type, and the dead letters."""
        return backlog_of(self._services)

    def dead_letters(
        self, *, job_type: str | None = None, start: datetime | None = None, end: datetime | None = None
    ) -> Iterator[DeadLetter]:
        """Open dead letters, the oldest first, of one type or all, by the date of their failure."""
        return dead_letters.open_dead_letters(self._services, job_type=job_type, start=start, end=end)

    def dead_letter(self, job_id: str) -> DeadLetter:
        return dead_letters.find_dead_letter(job_id, self._services)

    def redrive(self, job_id: str, *, reason: str = "", payload: Json | PayloadModel = None) -> Redriven:
        """Run a dead job again, as a new job; with another payload, if one is given.

        The audit entry says which paths of the payload differ, without their values.

        >>> queue.operator.redrive(job_id, payload={"user_id": "u1"}, reason="it was u2")       # doctest: +SKIP
        """
        text = None if payload is None else encode_value(payload)
        return dead_letters.redrive(job_id, self._services, reason=reason, payload_text=text)

    def cancel_many(
        self, job_ids: Iterable[str], *, reason: str = "", progress: Callable[[int], None] | None = None
    ) -> list[Cancelled]:
        """Cancel jobs that have not started, ask those that run to stop; each result says which, or why not."""
        wanted = [parse_job_id(each) for each in job_ids]
        return cancel_many(wanted, reason, self._services, progress=progress)

    def redrive_many(
        self,
        *,
        reason: str = "",
        job_type: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Redriven]:
        """Redrive all open dead letters that match; each result says which job it became, or why not."""
        return dead_letters.redrive_many(
            self._services,
            reason=reason,
            job_type=job_type,
            start=start,
            end=end,
            limit=limit,
            progress=progress,
        )

    def discard(self, job_id: str, *, reason: str = "") -> DeadLetter:
        """Resolve a dead letter without running it again."""
        return dead_letters.discard(job_id, self._services, reason=reason)
