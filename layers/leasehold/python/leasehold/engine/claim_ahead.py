"""Claim ahead: plain jobs of one page are claimed by one call, then handed over one by one.

A poller that dies in between leaves all of these leases to be reaped. Whoever a batch refuses is decided by the claim
for one job, with the same token: that is how a batch whose answer was lost is recognised, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.engine.claim import prepare, tell_claimed
from leasehold.engine.hold import stop_of
from leasehold.engine.telemetry import Event
from leasehold.store.jobs import DueJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.control import Switches
    from leasehold.domain.handover import Handover
    from leasehold.domain.limits import ConcurrencyPolicy
    from leasehold.engine.claim import Claim
    from leasehold.engine.parts import Parts
    from leasehold.engine.report import PollReport
    from leasehold.store.jobs import DueEntry

# One job by itself is claimed as well by the write that knows every case.
_FEWEST = 2


class ClaimsAhead:
    """What one poll has claimed and not handed over yet."""

    def __init__(self, parts: Parts, worker_id: str, report: PollReport, policy: ConcurrencyPolicy) -> None:
        self._parts = parts
        self._worker_id = worker_id
        self._report = report
        self._policy = policy
        self._claimed: dict[str, Claim] = {}
        self._undecided: dict[str, Claim] = {}
        # Types whose jobs a batch refuses for what they are, e.g. because they must start by a certain time.
        self._not_plain: set[str] = set()

    def take(self, entries: Sequence[DueEntry], switches: Switches) -> None:
        """Claim those of the entries that are plain jobs, if there are several."""
        if self._parts.store.jobs.refused_batches is not None:
            return
        plain = [entry for entry in entries if isinstance(entry, DueJob) and self._is_plain(entry, switches)]
        if len(plain) >= _FEWEST:
            self._claim(plain)

    def has_decided(self, entry: DueEntry) -> bool:
        return entry.due_key in self._claimed

    def claimed(self, entry: DueJob) -> Handover | None:
        """The hand-over of a job that was claimed ahead."""
        claimed = self._claimed.pop(entry.due_key, None)
        return claimed.handover if claimed else None

    def undecided(self, entry: DueJob) -> Claim | None:
        """What was asked for already, to be asked for once more."""
        return self._undecided.pop(entry.due_key, None)

    def note_alone(self, entry: DueJob) -> None:
        """It was let in by itself, where a batch had refused it: so will others of its type."""
        self._not_plain.add(entry.job_type)

    def take_back(self) -> tuple[list[Claim], list[Claim]]:
        """All that was claimed and never handed over; and what may be ours, by a batch whose answer was lost."""
        claimed, undecided = list(self._claimed.values()), list(self._undecided.values())
        self._claimed.clear()
        self._undecided.clear()
        return claimed, undecided

    def note_claimed(self, claimed: Claim) -> None:
        self._report.claimed += 1
        tell_claimed(claimed.handover, self._worker_id, self._parts)

    def _claim(self, entries: Sequence[DueJob]) -> None:
        jobs, types = self._parts.store.jobs, self._parts.deployment.registry().types
        claims = [prepare(entry, types[entry.job_type], self._worker_id, self._parts) for entry in entries]
        answers = jobs.advance_many([each.write for each in claims])
        for entry, each, answer in zip(entries, claims, answers, strict=True):
            if answer is None:
                self._claimed[entry.due_key] = each
                self.note_claimed(each)
            else:
                self._undecided[entry.due_key] = each
        if jobs.refused_batches is not None:
            self._parts.telemetry.event(
                Event.BATCH_REFUSED, worker_id=self._worker_id, reason=jobs.refused_batches, instead="one by one"
            )

    def _is_plain(self, entry: DueJob, switches: Switches) -> bool:
        registry = self._parts.deployment.registry()
        job_type = registry.types.get(entry.job_type)
        return (
            job_type is not None
            and entry.status.is_waiting
            and entry.job_type not in self._not_plain
            and stop_of(entry.job_type, switches, self._parts) is None
            and not self._policy.limits_of(job_type, entry.concurrency_key, registry)
        )
